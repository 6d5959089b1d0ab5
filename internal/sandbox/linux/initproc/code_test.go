//go:build linux

package initproc

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// entries are where the life of PID 1 and the interpreter begin.
var entries = []string{"sekisho/internal/sandbox/linux/initproc.rawBetween", "sekisho/internal/sandbox/linux/initproc.rawClone", "sekisho/internal/sandbox/linux/initproc.rawKeep"}

// harmless is code of others that a process without a runtime may run: it is assembler, or nosplit and does nothing but that.
var harmless = regexp.MustCompile(`^(syscall\.RawSyscall6|internal/runtime/syscall/linux\.Syscall6)$`)

// ours is code that obeys the rules of package opcode.
var ours = regexp.MustCompile(`^sekisho/internal/sandbox/linux/(initproc|opcode)\.[rR]aw[A-Za-z]*$`)

// Whatever PID 1 can reach calls nothing of the runtime: no stack grows, nothing is allocated, no pointer is written under the
// collector's eyes, nothing panics. The machine code says so, not the source.
//
// proves A-SBX-09
func TestNothingReachesTheRuntime(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		program := filepath.Join(t.TempDir(), arch)
		build := exec.Command("go", "test", "-c", "-o", program, ".") // the same code, in less of a program than the product's
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+arch, "GOFLAGS=")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		code, err := exec.Command("go", "tool", "objdump", "-s", `^(sekisho/internal/sandbox/linux/(initproc|opcode)\.|syscall\.RawSyscall6|internal/runtime/syscall/linux\.Syscall6)`, program).Output()
		if err != nil {
			t.Fatal(err)
		}
		calls := calls(string(code))
		seen := map[string]bool{}
		for todo := entries; len(todo) > 0; todo = todo[1:] {
			f := todo[0]
			if seen[f] {
				continue
			}
			seen[f] = true
			to, known := calls[f]
			if !known {
				t.Errorf("%s: no code of %s", arch, f)
			}
			for _, callee := range to {
				if !ours.MatchString(callee) && !harmless.MatchString(callee) {
					t.Errorf("%s: %s calls %s", arch, f, callee)
					continue
				}
				todo = append(todo, callee)
			}
		}
		for _, f := range []string{"initproc.rawServe", "initproc.rawChild", "initproc.rawKillAll", "opcode.RawRun", "opcode.rawCall"} {
			if !seen["sekisho/internal/sandbox/linux/"+f] {
				t.Errorf("%s: %s is not reached", arch, f)
			}
		}
		// Who has borrowed a stack leaves it by the call by which it was borrowed; the second one of rawBetween waits.
		for f, want := range map[string]int{"rawAhead": 1, "rawBetween": 2} {
			n := 0
			for _, to := range calls["sekisho/internal/sandbox/linux/initproc."+f] {
				if to == "syscall.RawSyscall6" {
					n++
				}
			}
			if n != want {
				t.Errorf("%s: %s makes system calls at %d places", arch, f, n)
			}
		}
		// The control: a function that is not like that is seen to be none.
		if to := strings.Join(calls["sekisho/internal/sandbox/linux/initproc.fork"], " "); !strings.Contains(to, "runtime.morestack") {
			t.Errorf("control: %s: fork calls %s", arch, to)
		}
	}
}

// jump is an instruction that leads to a function: a call, or a jump to its beginning. A call through a register names none.
var jump = regexp.MustCompile(`\s(CALL|JMP|BL|B)\s+(\S+)\(SB\)\s*$`)

var through = regexp.MustCompile(`\s(CALL|JMP|BL|B)\s+(\(?[A-Z][A-Z0-9]*\)?)\s*$`)

// calls reads the output of objdump: what each function calls.
func calls(code string) map[string][]string {
	all := map[string][]string{}
	var f string
	for line := range strings.Lines(code) {
		if name, ok := strings.CutPrefix(line, "TEXT "); ok {
			f, _, _ = strings.Cut(name, "(SB)")
			f = strings.TrimSuffix(f, ".abi0")
			all[f] = nil
		} else if m := jump.FindStringSubmatch(line); m != nil {
			if to := strings.TrimSuffix(m[2], ".abi0"); to != f {
				all[f] = append(all[f], to)
			}
		} else if m := through.FindStringSubmatch(line); m != nil && f != "" {
			all[f] = append(all[f], "what "+m[2]+" holds")
		}
	}
	return all
}
