//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sekisho/internal/audit"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/forward"
)

// transfers are the ways of sending that are compared: message size, connections, bytes for one measurement.
var transfers = []struct {
	name                 string
	size, streams, bytes int
	goal                 goal
}{
	{"1 KiB messages, 1 stream", 1 << 10, 1, 32 << 20, goal{}},
	{"64 KiB messages, 1 stream", 64 << 10, 1, 128 << 20, goal{0.9, true}},
	{"1 MiB messages, 1 stream", 1 << 20, 1, 128 << 20, goal{}},
	{"1 KiB messages, 8 streams", 1 << 10, 8, 32 << 20, goal{}},
	{"64 KiB messages, 8 streams", 64 << 10, 8, 128 << 20, goal{0.9, true}},
	{"1 MiB messages, 8 streams", 1 << 20, 8, 128 << 20, goal{}},
}

// forward compares the throughput of a sandbox's network with a direct one. Sender, forwarder (this process) and receiver are
// processes of their own.
func (b *bench) forward() (err error) {
	workspace, err := b.workspace()
	if err != nil {
		return err
	}
	built, err := b.bin.Build("test/bench/stream")
	if err != nil {
		return err
	}
	program := filepath.Join(workspace, "stream") // where a sandbox runs programs
	text, err := os.ReadFile(built)
	if err == nil {
		err = os.WriteFile(program, text, 0o755)
	}
	if err != nil {
		return err
	}
	to, done, err := b.sink(built)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	t, err := b.newTask(workspace)
	if err != nil {
		return err
	}
	p := &t.policy
	p.Network.Access = sandbox.NetworkLocal
	p.Network.Local = []int{int(to.Port())}
	p.Task.Network.Rules = []sandbox.NetworkRule{{ID: "n1", Address: to}}
	p.Task.Forward = forward.New(forward.Options{Audit: unaudited{}})
	if err := t.open(); err != nil {
		return errors.Join(err, t.close())
	}
	defer func() { err = errors.Join(err, t.close()) }()
	b.columns()
	for _, x := range transfers {
		args := []string{"send", to.String(), strconv.Itoa(x.streams), strconv.Itoa(x.size), strconv.Itoa(x.bytes)}
		var s series
		for i := range b.pairs(21) + warmUps {
			inside, err := t.send(program, workspace, args)
			if err != nil {
				return err
			}
			direct, err := b.send(built, args)
			if err != nil {
				return err
			}
			if i >= warmUps {
				s.wallA, s.wallB = append(s.wallA, inside), append(s.wallB, direct)
			}
		}
		// A rate is the inverse of a time: B : A of the times is A : B of the rates.
		line(x.name, "rate", ratios(s.wallB, s.wallA), median(s.wallA), median(s.wallB), len(s.wallA), x.goal)
	}
	note("", "(A and B are the time of one transfer as the sender measured it; the ratio is that of the rates)")
	return nil
}

// unaudited takes the events of rules nowhere.
type unaudited struct{}

func (unaudited) Write(audit.Event) error { return nil }

// sink starts the receiver.
func (b *bench) sink(program string) (to netip.AddrPort, done func() error, err error) {
	cmd := exec.CommandContext(b.ctx, program, "sink")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return to, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return to, nil, err
	}
	if err := cmd.Start(); err != nil {
		return to, nil, err
	}
	done = func() error { return errors.Join(in.Close(), cmd.Wait()) }
	said, err := bufio.NewReader(io.LimitReader(out, 100)).ReadString('\n')
	if err == nil {
		to, err = netip.ParseAddrPort(strings.TrimSpace(said))
	}
	if err != nil {
		return to, nil, errors.Join(err, done())
	}
	return to, done, nil
}

// send runs the sender with nothing around it.
func (b *bench) send(program string, args []string) (time.Duration, error) {
	out, err := exec.CommandContext(b.ctx, program, args...).Output()
	if err != nil {
		return 0, err
	}
	return nanoseconds(out)
}

// send runs the sender in the open sandbox.
func (t *task) send(program, dir string, args []string) (time.Duration, error) {
	c, err := command(program, dir)
	if err != nil {
		return 0, err
	}
	var out, errs bytes.Buffer
	c.Args, c.Stdout, c.Stderr = args, &out, &errs
	p, err := t.job.Start(t.ctx, c)
	if err != nil {
		return 0, err
	}
	exit, err := p.Wait(t.ctx)
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("the sender ended with %d %s: %s", exit.Code, exit.Signal, errs.String())
	}
	if err != nil {
		return 0, err
	}
	return nanoseconds(out.Bytes())
}

func nanoseconds(said []byte) (time.Duration, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(string(said)), 10, 64)
	return time.Duration(n), err
}
