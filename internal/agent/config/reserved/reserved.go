// Package reserved tells which servers of this machine no payload of a sandbox may reach (A-POL-06).
package reserved

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"sekisho/internal/agent/config/userfile"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/strictjson"
)

// Config is what a configuration says of servers: of the sandbox's network, the model's URL, and this server's own address over
// HTTP, invalid when it has none.
type Config struct {
	Access    string
	Model     string
	Own       netip.AddrPort
	StateRoot string
}

// Machine tells which servers no payload may reach (A-POL-06), as they are now: the model server, this server's own HTTP
// port, the page of every relaycodex and the HTTP port of every other agent-mcp of this user. Nothing is asked when the policy
// has no network. Errors are state.unusable: a relaycodex whose port cannot be read may be anywhere.
func Machine(c Config) (policy.Machine, error) {
	if c.Access == sandbox.NetworkNone {
		return policy.Machine{}, nil
	}
	var m policy.Machine
	if u, err := url.Parse(c.Model); err == nil && u.Hostname() != "" {
		m.Servers = append(m.Servers, policy.Server{Kind: policy.ServerModel, Host: u.Hostname(), Port: portOf(u)})
	}
	if c.Own.IsValid() {
		m.Servers = append(m.Servers, policy.Server{Kind: policy.ServerOwn, Host: c.Own.Addr().String(), Port: int(c.Own.Port())})
	}
	relays, err := relays(filepath.Join(filepath.Dir(c.StateRoot), "relaycodex"))
	if err != nil {
		return m, err
	}
	m.Servers = append(m.Servers, relays...)
	doors, err := Doors(c.StateRoot)
	if err != nil {
		return m, err
	}
	m.Servers = append(m.Servers, doors...)
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return m, fault.New(fault.StateUnusable, fault.Variant("reason"), fault.Target("network interfaces"), fault.Arg("reason", err), fault.Cause(err))
	}
	for _, i := range interfaces {
		if p, err := netip.ParsePrefix(i.String()); err == nil {
			m.Addresses = append(m.Addresses, p.Addr().Unmap().WithZone(""))
		}
	}
	return m, nil
}

func portOf(u *url.URL) int {
	if n, err := strconv.Atoi(u.Port()); err == nil {
		return n
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}

// Files of a relaycodex instance below <its state root>/instances/<id>/.
const (
	relayPage    = "page.json"
	relaySocket  = "control.sock"
	maxPageBytes = 4 << 10
	relayTime    = time.Second
)

// relays finds the pages of the relaycodex instances that run below a state root.
func relays(root string) ([]policy.Server, error) {
	dir := filepath.Join(root, "instances")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(dir, err)
	}
	var out []policy.Server
	for _, e := range entries {
		path := filepath.Join(dir, e.Name(), relayPage)
		data, err := userfile.Read(path, maxPageBytes)
		if errors.Is(err, fs.ErrNotExist) || err == nil && ended(filepath.Join(dir, e.Name(), relaySocket)) {
			continue
		}
		var page struct {
			Port int `json:"port"`
		}
		if err == nil {
			err = strictjson.UnmarshalOpen(data, maxPageBytes, &page)
		}
		if err == nil && (page.Port < 1 || page.Port > 65535) {
			err = fmt.Errorf("port %d", page.Port)
		}
		if err != nil {
			return nil, unreadable(path, err)
		}
		out = append(out, policy.Server{Kind: policy.ServerRelay, Host: "127.0.0.1", Port: page.Port})
	}
	return out, nil
}

// ended tells whether an instance is known to have ended: its socket is there and nobody is behind it. Whoever is asked a
// question, one that no version knows, and its answer is taken: hanging up would be a failure in its log.
func ended(socket string) bool {
	c, err := net.DialTimeout("unix", socket, relayTime)
	if err != nil {
		return errors.Is(err, syscall.ECONNREFUSED)
	}
	defer c.Close()
	if c.SetDeadline(time.Now().Add(relayTime)) == nil {
		if _, err := io.WriteString(c, `{"version":1,"want":"nothing"}`+"\n"); err == nil {
			_, _ = io.CopyN(io.Discard, c, maxPageBytes) // what it says does not matter
		}
	}
	return false
}

func unreadable(path string, err error) error {
	return fault.New(fault.StateUnusable, fault.Variant("reason"), fault.Target(path), fault.Arg("reason", err), fault.Cause(err))
}
