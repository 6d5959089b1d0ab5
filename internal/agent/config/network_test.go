package config

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent/config/reserved"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/statedir"
)

// with lays network keys over the world.
func (w *world) network(yaml string) {
	w.t.Helper()
	w.edit("sandbox:\n", "sandbox:\n  network: "+yaml+"\n")
}

// proves A-POL-06, A-POL-08
func TestNetworkIsResolvedCanonicalAndShown(t *testing.T) {
	w := newWorld(t, "en")
	w.network(`{access: restricted, restricted_endpoints: [{host: B.Example., ports: [443, 80]}, {host: "10.0.0.1", ports: [1]}, {host: b.example, ports: [8080]}]}`)
	_, r := w.load()
	want := sandbox.NetworkPolicy{Access: sandbox.NetworkRestricted, Restricted: []sandbox.Endpoint{{Host: "b.example", Ports: []int{80, 443, 8080}}, {Host: "10.0.0.1", Ports: []int{1}}}}
	if diff := cmp.Diff([]sandbox.NetworkPolicy{want, want}, []sandbox.NetworkPolicy{r.Policy.Network, r.Snapshot.Network}); diff != "" {
		t.Errorf("policy and snapshot (-want +got):\n%s", diff)
	}
	text, err := w.show()
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.Join(strings.Fields(text), " ")
	for _, line := range []string{"restricted_endpoints  b.example [80 443 8080]  TCP", "restricted_endpoints  10.0.0.1 [1]", "own servers", "TCP ports 61000-62023"} {
		if !strings.Contains(shown, strings.Join(strings.Fields(line), " ")) {
			t.Errorf("show does not tell %q:\n%s", line, text)
		}
	}
}

// proves A-POL-06
func TestEndpointsThatAreServersOfThisMachineAreRefusedAtTheirLine(t *testing.T) {
	for _, c := range []struct{ more, network, want string }{
		{"ollama: {endpoint: 'http://LOCALHOST:11434'}\n", "{access: local, local_endpoints: [80, 11434]}", "sandbox.network.local_endpoints[1]: 127.0.0.1:11434 is the model server."},
		{"ollama: {endpoint: 'http://[::1]:11434/'}\n", `{access: restricted, restricted_endpoints: [{host: "127.0.0.1", ports: [11434]}]}`, "sandbox.network.restricted_endpoints[0].ports: 127.0.0.1:11434 is the model server."},
		{"ollama: {endpoint: 'https://GPU.example'}\n", `{access: restricted, restricted_endpoints: [{host: "gpu.example.", ports: [80, 443]}]}`, "sandbox.network.restricted_endpoints[0].ports: gpu.example:443 is the model server."},
	} {
		w := newWorld(t, "en")
		w.edit("schema_version: 2\n", "schema_version: 2\n"+c.more)
		w.network(c.network)
		l, p := Load(w.places)
		if p.Err() != nil {
			t.Fatal(report(t, p, l.Locale, w.places))
		}
		_, p = Resolve(l)
		got := report(t, p, l.Locale, w.places)
		if !strings.Contains(got, c.want) || !strings.HasPrefix(got, "DIR/conf/agent.yaml:5:") || fault.CodeOf(p.Err()) != fault.ConfigurationInvalid {
			t.Errorf("%s: %s", c.network, got)
		}
	}
}

// relay makes what a running relaycodex leaves on disk.
func (w *world) relay(id string, page string) string {
	dir := filepath.Join(filepath.Dir(w.places.StateRoot), "relaycodex", "instances", id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	put(w.t, filepath.Join(dir, "page.json"), page)
	return filepath.Join(dir, "control.sock")
}

// proves A-POL-06
func TestPagesAndDoorsOfOtherServersAreFound(t *testing.T) {
	w := newWorld(t, "en")
	w.places.StateRoot = filepath.Join(t.TempDir(), "agent-mcp")
	l := &Loaded{Places: w.places, Config: Config{MCP: MCP{Transport: TransportHTTP, HTTPHost: "::1", HTTPPort: 8080}, Ollama: Ollama{Endpoint: "https://[::1]/x"}}}
	l.Config.Sandbox.Network.Access = sandbox.NetworkLocal
	servers := func() string {
		m, err := l.Machine()
		if err != nil {
			return err.Error()
		}
		var out []string
		for _, s := range m.Servers {
			out = append(out, fmt.Sprint(s.Kind, " ", sandbox.HostPort(s.Host, s.Port)))
		}
		if len(m.Addresses) == 0 {
			t.Error("this machine has no address")
		}
		return strings.Join(out, ", ")
	}
	const own = "model [::1]:443, own [::1]:8080"
	if got := servers(); got != own {
		t.Errorf("without a relaycodex: %s", got)
	}
	alive, err := net.Listen("unix", w.relay("a", `{"version":1,"port":4001,"later":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	var asked sync.WaitGroup
	asked.Go(func() {
		for {
			c, err := alive.Accept()
			if err != nil {
				return
			}
			line, err := bufio.NewReader(c).ReadString('\n')
			if _, werr := c.Write([]byte("{}\n")); err != nil || werr != nil || !strings.HasPrefix(line, `{"version":1,`) {
				t.Errorf("a relaycodex was left without a question: %q %v %v", line, err, werr)
			}
			c.Close()
		}
	})
	defer asked.Wait()
	defer alive.Close()
	dead, err := net.Listen("unix", w.relay("b", `{"version":1,"port":4002}`))
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	dead.Close()
	w.relay("c", `{"version":1,"port":4003}`) // about to open its socket
	if got, want := servers(), own+", relay 127.0.0.1:4001, relay 127.0.0.1:4003"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	state, err := statedir.Open(fileop.OS(), w.places.StateRoot)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	other, err := state.NewInstance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	mark, err := other.Mark(t.Context(), reserved.DoorMark(4004))
	if err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{"http-4005", "http-0", "http-", "http-65536", "http--1", "journal"} { // nobody holds them, or no port
		dir, err := other.Sub(no)
		if err != nil {
			t.Fatal(err)
		}
		dir.Close()
	}
	if got, want := servers(), own+", relay 127.0.0.1:4001, relay 127.0.0.1:4003, agent 127.0.0.1:4004"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	mark.Close()
	if got := servers(); strings.Contains(got, "agent") {
		t.Errorf("a door that was closed: %s", got)
	}
	w.relay("d", `{"version":1,"port":"4"}`)
	if _, err := l.Machine(); fault.CodeOf(err) != fault.StateUnusable {
		t.Errorf("a page that cannot be read: %v", err)
	}
	l.Config.Sandbox.Network.Access = sandbox.NetworkNone
	if m, err := l.Machine(); err != nil || len(m.Servers) > 0 {
		t.Errorf("without a network: %v %v", m, err)
	}
}
