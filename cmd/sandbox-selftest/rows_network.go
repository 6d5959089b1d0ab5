//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// sandboxed rewrites the site's configuration with more lines below sandbox.
func (s *site) sandboxed(lines ...string) error {
	text := strings.Replace(s.yaml(""), "sandbox:\n", "sandbox:\n  "+strings.Join(lines, "\n  ")+"\n", 1)
	return write(s.config, text)
}

// forbiddenEndpoints: an endpoint that is the model server's, this server's own or a relaycodex's is refused at start.
func forbiddenEndpoints(sc *scene) {
	s, err := sc.newSite(answering())
	if err != nil {
		sc.Block("fixture", "%v", err)
		return
	}
	u, err := url.Parse(s.model.URL())
	if err != nil {
		sc.Block("fixture", "%v", err)
		return
	}
	free, err := net.Listen("tcp", "127.0.0.1:0") // a port that is nobody's
	if err != nil {
		sc.Block("fixture", "%v", err)
		return
	}
	defer free.Close()
	_, other, _ := net.SplitHostPort(free.Addr().String())
	if err := errors.Join(s.sandboxed("network: {access: local, local_endpoints: ["+other+"]}"), s.apply()); err != nil {
		sc.Block("another port", "%v", err)
		return
	}
	s.must("another port")
	for what, network := range map[string]string{
		"the model server's port":         "{access: local, local_endpoints: [" + other + ", " + u.Port() + "]}",
		"the model server on IPv6":        `{access: restricted, restricted_endpoints: [{host: "::1", ports: [` + u.Port() + "]}]}",
		"another address of the loopback": "{access: restricted, restricted_endpoints: [{host: 127.99.0.1, ports: [" + u.Port() + "]}]}",
		"localhost":                       "{access: restricted, restricted_endpoints: [{host: LocalHost., ports: [" + u.Port() + "]}]}",
	} {
		if err := s.sandboxed("network: " + network); err != nil {
			sc.Block(what, "%v", err)
		}
		s.refusedWith(what, "configuration.invalid")
	}
	// A relaycodex of this user has the other port from now on.
	dir := s.dir + "/state/relaycodex/instances/0123456789abcdef"
	if err := errors.Join(s.sandboxed("network: {access: local, local_endpoints: ["+other+"]}"), os.MkdirAll(dir, 0o700), write(dir+"/page.json", `{"version":1,"port":`+other+"}")); err != nil {
		sc.Block("a relaycodex", "%v", err)
	}
	s.refusedWith("a relaycodex's port", "configuration.invalid")
}

// crashWithNetwork kills the server while a program inside is connected to a server of the host: the connection ends with
// the server, and nothing of the network is left, before any recovery.
func crashWithNetwork(sc *scene) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		sc.Block("fixture", "%v", err)
		return
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	s, err := sc.newSite(answering(`{name: process_run, arguments: {executable: payload, args: [tcp-flood, "127.0.0.1:` + port + `", "1", "100"], cwd: WORKSPACE, timeout_seconds: 120, stdin: null}}`))
	if err == nil {
		err = errors.Join(copyTo(sc.payload, s.dir+"/tools/payload"), s.sandboxed("network: {access: local, local_endpoints: ["+port+"]}"))
	}
	if err == nil {
		text := strings.Replace(s.read(s.config), "entries: [", fmt.Sprintf("entries: [{alias: payload, path: %q}, ", s.dir+"/tools/payload"), 1)
		err = errors.Join(write(s.config, text), s.apply())
	}
	if err != nil {
		sc.Block("fixture", "%v", err)
		return
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			accepted <- c
		}
	}()
	c, err := s.serve(sc.program, 0)
	if err == nil {
		_, err = c.Run("do it")
	}
	var conn net.Conn
	select {
	case conn = <-accepted:
	case <-time.After(30 * time.Second):
		sc.Block("a program with a connection", "it did not connect: %v %.600s", err, c.log())
		c.Cmd.Process.Kill()
		c.Close()
		return
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		sc.Block("a program with a connection", "nothing came: %v", err)
	}
	sc.Check("the audit", strings.Contains(s.audit(), "network.rule.apply") && !strings.Contains(s.audit(), "network.rule.remove"), "%.600s", s.audit())
	if s.leftovers() == nil {
		sc.Block("the control", "a running server has nothing that could be left")
	}
	c.Cmd.Process.Kill()
	c.Close()
	_, err = conn.Read(make([]byte, 1))
	var timeout net.Error
	sc.Check("the connection", err != nil && !(errors.As(err, &timeout) && timeout.Timeout()), "it lives on: %v", err)
	s.cleaned("while a program is connected")
	sc.Check("the next start's record", strings.Contains(s.audit(), "recovery.end"), "%.600s", s.audit())
}

// audit is the site's audit log.
func (s *site) audit() string {
	found, _ := filepath.Glob(s.dir + "/state/agent-mcp/logs/audit.jsonl")
	if len(found) != 1 {
		return ""
	}
	return s.read(found[0])
}

func copyTo(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return errors.Join(write(to, string(b)), os.Chmod(to, 0o755))
}
