//go:build linux

// Command network shows what leaves a sandbox with a network, packet by packet. It makes a network namespace for a host and
// one for the world outside, with servers and a sniffer in it, and runs the broker with a real sandbox on the host, as root
// and as an ordinary user: what is listed arrives, and of everything else not one packet is seen, while the same program
// unconfined is seen with each of them. It needs root and touches no network of the machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sekisho/test/delegate"
	"sekisho/test/product"
)

// other is a user without account and privileges.
const other = 65501

// The roles of this program besides the first: the host's root, and who attempts.
const (
	roleWorld   = "world"
	roleAttempt = "attempt"
)

// tally counts what was shown.
type tally struct{ passed, failed int }

func (t *tally) check(what string, ok bool, format string, args ...any) {
	if ok {
		t.passed++
		fmt.Println("passed", what)
		return
	}
	t.failed++
	fmt.Println("FAILED", what+":", fmt.Sprintf(format, args...))
}

func main() {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	var t tally
	var err error
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	switch role {
	case roleWorld:
		err = world(ctx, &t, os.Args[2:])
	case roleAttempt:
		if err = attempts(ctx, os.Args[2:]); err == nil {
			return
		}
	default:
		err = both(ctx, &t)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "network:", err)
	}
	fmt.Printf("%d passed, %d failed\n", t.passed, t.failed)
	if err != nil || t.failed > 0 || t.passed == 0 {
		os.Exit(1)
	}
}

// both plays the world once for each user, each in a namespace of its own.
func both(ctx context.Context, t *tally) error {
	if os.Geteuid() != 0 {
		return errors.New("making a world needs root")
	}
	var bin product.Bin
	defer bin.Close()
	dir, err := os.MkdirTemp("/var/tmp", "sekisho-network-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	programs := map[string]string{}
	for _, pkg := range []string{"cmd/agent-mcp", "test/payload"} {
		if programs[pkg], err = bin.Build(pkg); err != nil {
			return err
		}
	}
	self := filepath.Join(dir, "network")
	if err := copyProgram("/proc/self/exe", self); err != nil {
		return err
	}
	group, err := delegate.Give(other)
	if err != nil {
		return fmt.Errorf("giving the ordinary user a control group: %w", err)
	}
	defer group.Remove()
	for _, uid := range []int{0, other} {
		setting := "auto"
		if uid == other {
			setting = group.Setting
		}
		for _, mode := range []string{"restricted", "local"} {
			work := filepath.Join(dir, fmt.Sprint(mode, "-", uid))
			if err := errors.Join(os.Mkdir(work, 0o755), os.Chown(work, uid, uid)); err != nil {
				return err
			}
			cmd := exec.CommandContext(ctx, self, roleWorld, mode, strconv.Itoa(uid), work, programs["cmd/agent-mcp"], programs["test/payload"], setting, group.Home)
			cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			var part tally
			fmt.Sscanf(lines[len(lines)-1], "%d passed, %d failed", &part.passed, &part.failed)
			for _, l := range lines[:len(lines)-1] {
				fmt.Printf("%s as uid %d: %s\n", mode, uid, l)
			}
			t.passed, t.failed = t.passed+part.passed, t.failed+part.failed
			if err != nil && part.failed == 0 {
				return fmt.Errorf("the world for uid %d: %w", uid, err)
			}
		}
	}
	return nil
}

func copyProgram(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}
