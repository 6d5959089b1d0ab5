package broker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
)

// names is a resolver that counts; a name that it does not know does not exist.
type names struct {
	mu    sync.Mutex
	known map[string][]netip.Addr
	asked []string
}

func (n *names) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, network+" "+host)
	if a, ok := n.known[host]; ok {
		return a, nil
	}
	return nil, errors.New("no such host")
}

// auditLog keeps events; room is how many still fit, -1 for all.
type auditLog struct {
	lines []string
	room  int
}

func (l *auditLog) Write(e audit.Event) error {
	if l.room == 0 {
		return errors.New("no space left on device")
	}
	l.room--
	l.lines = append(l.lines, fmt.Sprint(e.Event, " ", e.Kind, " ", e.Target, " ", e.Port, " ", e.Reason, " ", e.SessionID, " ", e.TaskID))
	return nil
}

// opening is a backend that notes the policy with which it is opened.
type opening struct {
	*fakeBackend
	policy sandbox.EffectivePolicy
}

func (o *opening) Open(ctx context.Context, p sandbox.EffectivePolicy, applied []sandbox.Undo) (sandbox.Job, error) {
	o.policy = p
	return o.fakeBackend.Open(ctx, p, applied)
}

type networked struct {
	*server
	backend  *opening
	resolver *names
	log      *auditLog
	machine  policy.Machine
	err      error // of Machine
}

func newNetworked(t *testing.T, p sandbox.NetworkPolicy) *networked {
	s := newServer(t, 0, 0)
	n := &networked{server: s, backend: &opening{fakeBackend: s.backend}, resolver: &names{known: map[string][]netip.Addr{}}, log: &auditLog{room: -1}}
	s.broker.deps.Backend, s.broker.deps.Policy.Network = n.backend, p
	s.broker.deps.Network = &Network{Resolver: n.resolver, Audit: n.log, Machine: func() (policy.Machine, error) { return n.machine, n.err },
		Doors: func() ([]policy.Server, error) { return nil, nil }}
	return n
}

func rules(p sandbox.EffectivePolicy) (out []string) {
	for _, r := range p.Task.Network.Rules {
		out = append(out, r.Address.String())
	}
	return out
}

// proves A-POL-06, A-POL-12
func TestNamesAreResolvedOnceForATask(t *testing.T) {
	n := newNetworked(t, sandbox.NetworkPolicy{Access: sandbox.NetworkRestricted, Restricted: []sandbox.Endpoint{
		{Host: "a.example", Ports: []int{443}}, {Host: "gone.example", Ports: []int{80}}, {Host: "here.example", Ports: []int{22}}, {Host: "build", Ports: []int{1}}, {Host: "model.example", Ports: []int{11434}}, {Host: "10.0.0.1", Ports: []int{5}}}})
	address := netip.MustParseAddr
	n.machine.Servers = []policy.Server{{Kind: policy.ServerModel, Host: "GPU.example", Port: 11434}, {Kind: policy.ServerRelay, Host: "127.0.0.1", Port: 4}}
	n.resolver.known = map[string][]netip.Addr{"a.example.": {address("93.0.0.1"), address("2606::1")}, "here.example.": {address("192.168.1.1")}, "build": {address("93.0.0.2")},
		"model.example.": {address("93.0.0.9")}, "GPU.example.": {address("93.0.0.9")}}
	job, err := n.broker.Open(t.Context(), "session", task)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(n.resolver.asked)
	if diff := cmp.Diff([]string{"ip GPU.example.", "ip a.example.", "ip build", "ip gone.example.", "ip here.example.", "ip model.example."}, n.resolver.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"10.0.0.1:5", "93.0.0.1:443", "[2606::1]:443", "93.0.0.2:1"}, rules(n.backend.policy)); diff != "" || n.backend.policy.Task.Forward == nil {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	want := []string{
		"policy.deny network gone.example:80 80 dns_failed session " + task,
		"policy.deny network here.example:22 (192.168.1.1) 22 private_address session " + task,
		"policy.deny network model.example:11434 (93.0.0.9) 11434 reserved_server session " + task,
	}
	if diff := cmp.Diff(want, n.log.lines); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if err := job.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.clean(); err != nil {
		t.Error(err)
	}
}

// proves A-POL-06
func TestARelayThatStartedLaterHasNoRule(t *testing.T) {
	n := newNetworked(t, sandbox.NetworkPolicy{Access: sandbox.NetworkLocal, Local: []int{80, 4000}})
	n.machine.Servers = []policy.Server{{Kind: policy.ServerRelay, Host: "127.0.0.1", Port: 4000}}
	job, err := n.broker.Open(t.Context(), "session", task)
	if err != nil {
		t.Fatal(err)
	}
	defer job.Close(t.Context())
	if diff := cmp.Diff([]string{"127.0.0.1:80", "[::1]:80"}, rules(n.backend.policy)); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if len(n.log.lines) != 2 || !strings.Contains(n.log.lines[1], "[::1]:4000 4000 reserved_server") {
		t.Errorf("audit: %q", n.log.lines)
	}
}

// proves A-POL-06, A-AUD-01
func TestWhatANetworkNeedsAndCannotHaveOpensNothing(t *testing.T) {
	local := sandbox.NetworkPolicy{Access: sandbox.NetworkLocal, Local: []int{80}}
	for name, c := range map[string]struct {
		change func(*networked)
		want   fault.Code
	}{
		"nobody tells about the network":   {func(n *networked) { n.broker.deps.Network = nil }, fault.ConfinementUnsupported},
		"a relaycodex that cannot be read": {func(n *networked) { n.err = fault.New(fault.StateUnusable) }, fault.StateUnusable},
		"a denial that cannot be written": {func(n *networked) {
			n.log.room = 0
			n.machine.Servers = []policy.Server{{Kind: policy.ServerOwn, Host: "::1", Port: 80}}
		}, fault.StateUnusable},
	} {
		n := newNetworked(t, local)
		c.change(n)
		if _, err := n.broker.Open(t.Context(), "session", task); fault.CodeOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
		if len(n.backend.calls) > 0 {
			t.Errorf("%s: the backend did %v", name, n.backend.calls)
		}
		if entries, err := os.ReadDir(n.journals.Name()); len(entries) > 0 || err != nil {
			t.Errorf("%s: journals %v %v", name, entries, err)
		}
	}
}

// proves A-POL-06
func TestAPolicyWithoutANetworkAsksNothing(t *testing.T) {
	n := newNetworked(t, sandbox.NetworkPolicy{Access: sandbox.NetworkNone})
	n.err = errors.New("asked")
	job, err := n.broker.Open(t.Context(), "session", task)
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Close(t.Context()); err != nil || len(n.resolver.asked) > 0 || n.backend.policy.Task.Forward != nil {
		t.Errorf("%v, asked %v", err, n.resolver.asked)
	}
}

// proves A-POL-06
func TestServersAreLookedForAtMostOnceASecond(t *testing.T) {
	var doors []policy.Server
	var doorsErr error
	asked, now := 0, time.Unix(1000, 0)
	var answer policy.Machine
	g := &guards{ask: func() (policy.Machine, error) { asked++; return answer, nil }, doors: func() ([]policy.Server, error) { return doors, doorsErr }, now: func() time.Time { return now },
		first: policy.Machine{Servers: []policy.Server{{Kind: policy.ServerModel, Host: "gpu.example", Port: 1, Addresses: []netip.Addr{netip.MustParseAddr("93.0.0.1")}}}}}
	to := netip.MustParseAddrPort("127.0.0.1:4000")
	for range 100 {
		if yes, err := g.guards(to); yes || err != nil {
			t.Fatal(yes, err)
		}
	}
	answer.Servers = []policy.Server{{Kind: policy.ServerRelay, Host: "127.0.0.1", Port: 4000}}
	now = now.Add(guardsTime)
	if yes, _ := g.guards(to); !yes || asked != 2 {
		t.Errorf("a relaycodex that started: guarded %v, asked %d times", yes, asked)
	}
	if yes, _ := g.guards(netip.MustParseAddrPort("93.0.0.1:1")); !yes {
		t.Error("what the model server's name resolved to is forgotten")
	}
	// A door counts at once.
	door := netip.MustParseAddrPort("[::1]:4001")
	if yes, err := g.guards(door); yes || err != nil {
		t.Errorf("nobody's port is guarded: %v", err)
	}
	doors = []policy.Server{{Kind: policy.ServerAgent, Host: "127.0.0.1", Port: 4001}}
	if yes, _ := g.guards(door); !yes || asked != 2 {
		t.Errorf("a door that opened: guarded %v, asked %d times", yes, asked)
	}
	doors, doorsErr = nil, errors.New("unreadable")
	if yes, err := g.guards(door); !yes && err == nil {
		t.Error("doors that cannot be read are open")
	}
}
