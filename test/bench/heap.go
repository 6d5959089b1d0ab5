//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// driver is the first argument of a process that makes sandboxes for the section heap.
const driver = "drive"

// largeHeap is what the large one of two drivers holds, in MiB.
const largeHeap = 1024

// heap compares two processes that differ in their live heap only.
func (b *bench) heap() error {
	if have, err := available(); err != nil || have < 2*largeHeap {
		notRun("true, cold", fmt.Sprintf("a heap of %d MiB needs twice as much free memory: %d MiB, %v", largeHeap, have, err))
		return nil
	}
	large, err := b.startDriver(largeHeap)
	if err != nil {
		return err
	}
	small, err := b.startDriver(0)
	if err != nil {
		return errors.Join(err, large.stop())
	}
	s, err := b.interleave(b.pairs(41), large.act, small.act)
	if err = errors.Join(err, large.stop(), small.stop()); err != nil {
		return err
	}
	b.columns()
	s.row(fmt.Sprintf("true, cold, %d MiB of heap", largeHeap), goal{bound: 1.1})
	return nil
}

// available is the memory that this machine could give, in MiB.
func available() (int, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	for l := range strings.Lines(string(text)) {
		if f := strings.Fields(l); len(f) > 1 && f[0] == "MemAvailable:" {
			kib, err := strconv.Atoi(f[1])
			return kib / 1024, err
		}
	}
	return 0, errors.New("/proc/meminfo does not say MemAvailable")
}

// process is a driver.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (b *bench) startDriver(megabytes int) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program, err := b.bin.Build("cmd/agent-mcp")
	if err != nil {
		return nil, err
	}
	workspace, err := b.workspace()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(b.ctx, self, driver, program, b.dir, workspace, strconv.Itoa(megabytes))}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.cmd.Start()
}

// act has the driver make one sandbox, run a program in it and destroy it.
func (p *process) act() error {
	if _, err := io.WriteString(p.in, "again\n"); err != nil {
		return err
	}
	answer, err := p.out.ReadString('\n')
	if err == nil && answer != "done\n" {
		err = errors.New(strings.TrimSpace(answer))
	}
	return err
}

func (p *process) stop() error {
	return errors.Join(p.in.Close(), p.cmd.Wait())
}

// drive is the driver: for each line it is sent it makes a cold run and answers with one line.
func drive(args []string) error {
	if len(args) != 4 {
		return errors.New("a driver is started by this program only")
	}
	megabytes, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	held := make([][]byte, megabytes)
	for i := range held {
		held[i] = make([]byte, 1<<20)
		for at := 0; at < len(held[i]); at += 4096 {
			held[i][at] = 1
		}
	}
	defer runtime.KeepAlive(held)
	runtime.GC() // the heap is as it is from here on
	t, err := newTask(context.Background(), args[0], args[1], args[2])
	if err != nil {
		return err
	}
	c, err := command(smallest, args[2])
	if err != nil {
		return err
	}
	cold := t.cold(c)
	orders := bufio.NewReader(os.Stdin)
	for {
		if _, err := orders.ReadString('\n'); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		answer := "done"
		if err := cold(); err != nil {
			answer = strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(answer)
	}
}
