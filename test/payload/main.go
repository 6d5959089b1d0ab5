//go:build linux

// Command payload is the hostile program of the tests: a static binary that tries one effect and says what happened.
//
// Usage: payload [-told] ACTION ARGS... prints one JSON line {"ok","errno","detail"} and ends with 0 when the effect was
// reached, 1 when it was not (with -told, 0), 2 for a call it does not understand. A test never believes "ok": it looks at the host. Every loop
// here is bounded in count and time.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// longest bounds everything that waits.
const longest = 120 * time.Second

// action tries one effect; detail is what a test wants to know about it.
type action struct {
	usage string
	run   func(args []string) (detail string, err error)
}

// actions is filled by the files of this package, one group of effects each.
var actions = map[string]action{}

func add(group map[string]action) { maps.Copy(actions, group) }

var errUsage = errors.New("usage")

func main() {
	told := len(os.Args) > 1 && os.Args[1] == "-told"
	if told {
		os.Args = append(os.Args[:1:1], os.Args[2:]...)
	}
	if len(os.Args) < 2 {
		usage()
	}
	a, known := actions[os.Args[1]]
	if !known {
		usage()
	}
	args := os.Args[2:]
	want := strings.Fields(a.usage)
	open := len(want) > 0 && strings.HasSuffix(want[len(want)-1], "...")
	if len(args) < len(want) && !(open && len(args) == len(want)-1) || len(args) > len(want) && !open {
		usage()
	}
	detail, err := a.run(args)
	if errors.Is(err, errUsage) {
		usage()
	}
	result := struct {
		OK     bool   `json:"ok"`
		Errno  string `json:"errno,omitempty"`
		Detail string `json:"detail,omitempty"`
	}{OK: err == nil, Detail: detail}
	var errno unix.Errno
	if errors.As(err, &errno) {
		result.Errno = unix.ErrnoName(errno)
	} else if err != nil {
		result.Detail += err.Error()
	}
	json.NewEncoder(os.Stdout).Encode(result)
	if err != nil && !told {
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: payload ACTION ARGS...")
	for _, name := range slices.Sorted(maps.Keys(actions)) {
		fmt.Fprintln(os.Stderr, "  ", name, actions[name].usage)
	}
	os.Exit(2)
}

// number reads a decimal or 0x number; a bad one ends the program.
func number(s string) uintptr {
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		if signed, serr := strconv.ParseInt(s, 0, 64); serr == nil {
			return uintptr(signed)
		}
		usage()
	}
	return uintptr(n)
}

func seconds(s string) time.Duration {
	return min(time.Duration(number(s))*time.Second, longest)
}

// call makes one raw system call.
func call(nr uintptr, args ...uintptr) (string, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return "", errno
	}
	return strconv.FormatUint(uint64(r), 10), nil
}
