//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sekisho/internal/audit"
	"sekisho/internal/fileop"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/broker"
	"sekisho/internal/sandbox/host"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/resolve"
	"sekisho/internal/statedir"
)

// names is what the world calls its servers.
type names map[string][]netip.Addr

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if a, ok := n[host]; ok {
		return a, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

type quiet struct{}

func (quiet) Write(audit.Event) error { return nil }

// attempts opens one sandbox through the broker and does what it is told, one order a line.
func attempts(ctx context.Context, args []string) (err error) {
	mode, dir, product, program, cgroup := args[0], args[2], args[3], args[4], args[5]
	payload := dir + "/tools/payload"
	if err := errors.Join(os.Mkdir(dir+"/w", 0o755), os.Mkdir(dir+"/tools", 0o755)); err != nil {
		return err
	}
	if err := copyProgram(program, payload); err != nil {
		return err
	}
	p, err := declare(mode, dir, payload, cgroup)
	if err != nil {
		return err
	}
	backend, err := host.Open(host.Options{Program: product, Files: fileop.OS(), Cgroup: cgroup, Network: true})
	if err != nil {
		return err
	}
	if err := backend.Preflight(ctx); err != nil {
		return fmt.Errorf("preflight: %w", err)
	}
	state, err := statedir.Open(fileop.OS(), filepath.Join(dir, "state"))
	if err != nil {
		return err
	}
	defer state.Close()
	instance, err := state.NewInstance(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, instance.Close()) }()
	records, err := instance.Sub(broker.JournalDir)
	if err != nil {
		return err
	}
	defer records.Close()
	address := netip.MustParseAddr
	opener := broker.New(broker.Deps{Backend: backend, Journal: journal.Open(fileop.OS(), records), Instance: instance, Policy: p, State: state, Files: fileop.OS(),
		Network: &broker.Network{Audit: quiet{}, Machine: func() (policy.Machine, error) { return policy.Machine{}, nil }, Doors: func() ([]policy.Server, error) { return nil, nil }, Resolver: names{
			"api.test.": {address(listed4), address(listed6)}, "rebound.test.": {address(private), address(metadata), address("127.0.0.1"), address(hostLAN6)}}}})
	job, err := opener.Open(ctx, "session", "network")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Close(context.WithoutCancel(ctx))) }()
	lines := bufio.NewScanner(os.Stdin)
	for out := json.NewEncoder(os.Stdout); lines.Scan(); {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		var got answer
		if o.Inside {
			got = insideRun(ctx, job, dir, payload, o.Args)
		} else {
			got = outsideRun(ctx, payload, o.Args)
		}
		if err := out.Encode(got); err != nil {
			return err
		}
	}
	return lines.Err()
}

func declare(mode, dir, payload, cgroup string) (sandbox.EffectivePolicy, error) {
	d := policy.SandboxPolicy{Profile: policy.ProfileDevelopment, Resources: policy.Resources{Profile: "normal", MemoryMB: 512, TimeoutSeconds: 60, Cgroup: cgroup}}
	d.Network = sandbox.NetworkPolicy{Access: mode, Local: []int{7000}}
	if mode == sandbox.NetworkRestricted {
		d.Network = sandbox.NetworkPolicy{Access: mode, Restricted: []sandbox.Endpoint{{Host: "API.test.", Ports: []int{443}}, {Host: "rebound.test", Ports: []int{443}},
			{Host: "gone.test", Ports: []int{443}}, {Host: private, Ports: []int{8443}}}}
	}
	for _, path := range []string{dir + "/w", dir + "/tools"} {
		r, err := resolve.Root(path)
		if err != nil {
			return sandbox.EffectivePolicy{}, err
		}
		directory := policy.Directory{Declared: path, Path: r.Path, ID: r.ID, Filesystem: r.Filesystem}
		if path == dir+"/w" {
			d.Workspaces = []policy.Directory{directory}
			continue
		}
		e, err := resolve.Executable(payload)
		if err != nil {
			return sandbox.EffectivePolicy{}, err
		}
		d.Entries = []policy.Entry{{Alias: "payload", Declared: payload, Path: e.Path, ID: e.ID, SHA256: e.SHA256, Filesystem: e.Filesystem, RuntimeRoot: &directory}}
	}
	system, err := resolve.OSRuntime()
	if err != nil {
		return sandbox.EffectivePolicy{}, err
	}
	for _, s := range system {
		d.OSRuntime = append(d.OSRuntime, policy.Directory{Declared: s.Declared, Path: s.Path, ID: s.ID, Filesystem: s.Filesystem})
	}
	return policy.Compile(d)
}

func insideRun(ctx context.Context, job sandbox.Job, dir, payload string, args []string) (a answer) {
	e, err := resolve.Executable(payload)
	if err != nil {
		return answer{Err: err.Error()}
	}
	var out bytes.Buffer
	process, err := job.Start(ctx, sandbox.Command{Path: e.Path, ID: e.ID, SHA256: e.SHA256, Argv0: payload, Args: args, Dir: dir + "/w", Stdout: &out, Stderr: os.Stderr})
	if err == nil {
		_, err = process.Wait(ctx)
	}
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &a)
	}
	if err != nil {
		a.Err = fmt.Sprintf("%v: %s", err, out.Bytes())
	}
	return a
}

func outsideRun(ctx context.Context, payload string, args []string) (a answer) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, _ := exec.CommandContext(ctx, payload, args...).Output() // a refusal is an exit code
	if err := json.Unmarshal(out, &a); err != nil {
		a.Err = fmt.Sprintf("%v: %s", err, out)
	}
	return a
}
