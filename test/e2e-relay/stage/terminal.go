//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/test/relayworld"
)

// queries are what a program asks of its terminal, and what xterm answers.
var queries = []struct{ ask, answer string }{
	{"\x1b[6n", "\x1b[1;1R"},                          // where is the cursor
	{"\x1b[c", "\x1b[?64;1;22c"},                      // what are you
	{"\x1b[?u", "\x1b[?0u"},                           // keyboard protocol
	{"\x1b]10;?", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\"}, // foreground
	{"\x1b]11;?", "\x1b]11;rgb:0000/0000/0000\x1b\\"}, // background
}

var controls = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][0-9A-B]|[=>78M])`)

// shown is what the program drew, without what moves the cursor and colours.
func shown(raw []byte) string { return string(controls.ReplaceAll(raw, nil)) }

// resume runs "codex resume --remote" for the thread in a terminal of 120 × 40 and returns the milliseconds from the start of the
// command until marker was written to the terminal, and how many bytes were. What a terminal needs to paint them is not in it.
func (w *world) resume(marker string) (any, error) {
	pty, tty, err := openPTY()
	if err != nil {
		return nil, err
	}
	defer pty.Close()
	cmd := exec.Command(w.o.Codex, "resume", "--remote", w.profile.Endpoint, "--remote-auth-token-env", "RELAY_BENCH_TOKEN", w.thread)
	cmd.Dir, cmd.Env = w.work, append(relayworld.Env(w.home()), "TERM=xterm-256color", "LANG=C.UTF-8", "RELAY_BENCH_TOKEN="+relayworld.Token)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	began := time.Now()
	err = cmd.Start()
	tty.Close()
	if err != nil {
		return nil, err
	}
	defer func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	}()
	if err := pty.SetReadDeadline(began.Add(2 * time.Minute)); err != nil {
		return nil, err
	}
	var all []byte
	answered, chunk := 0, make([]byte, 1<<16)
	for {
		n, err := pty.Read(chunk)
		at := time.Since(began)
		all = append(all, chunk[:n]...)
		for answered < len(all) { // one after the other, in the order in which they were asked
			first, found := len(all), -1
			for i, q := range queries {
				if p := bytes.Index(all[answered:], []byte(q.ask)); p >= 0 && answered+p < first {
					first, found = answered+p, i
				}
			}
			if found < 0 {
				break
			}
			answered = first + len(queries[found].ask)
			if _, err := pty.WriteString(queries[found].answer); err != nil {
				return nil, err
			}
		}
		tail := max(0, len(all)-n-4096)
		if strings.Contains(shown(all[tail:]), marker) {
			return map[string]any{"ms": float64(at.Microseconds()) / 1000, "bytes": len(all)}, nil
		}
		if err != nil {
			return nil, errors.Join(err, fmt.Errorf("%q did not come; the terminal shows %q", marker, last(shown(all), 2000)))
		}
	}
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }

func openPTY() (pty, tty *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening /dev/ptmx: %w", err)
	}
	pty = os.NewFile(uintptr(fd), "/dev/ptmx")
	defer func() {
		if err != nil {
			pty.Close()
		}
	}()
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}); err != nil {
		return nil, nil, err
	}
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	return pty, tty, err
}
