//go:build linux

package mounts

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

const statMode = opcode.Ref(unsafe.Offsetof(unix.Stat_t{}.Mode))

// procfs makes a detached, read-only procfs of the process's pid namespace that hides processes which the reader may not
// trace. On the way it takes away the right to make user namespaces below this one (A-SBX-04) and all but a small share of what
// the host counts by user: these sysctls belong to the user namespace and can be written only here, before the mount is sealed.
func (b *builder) procfs(limits []wire.Sysctl) opcode.Ref {
	b.For(wire.StageProc, "/proc")
	mount := b.fresh("proc", Base|NoExec, [2]string{"hidepid", "invisible"})
	for _, l := range limits {
		b.For(wire.StageSysctl, l.Name)
		b.sysctl(mount, l.Name, l.Value, true)
	}
	b.For(wire.StageProc, "/proc")
	b.setattr(mount, ReadOnly, 0, 0)
	return mount
}

// What a sandbox may take of the host user's inotify instances and watches (usually 128, and 8192 or more): they count for
// the namespace's owner too, whose editor and desktop need them. Never more than a quarter.
const (
	inotifyInstances = 16
	inotifyWatches   = 8192
)

// limit is a sysctl of the user namespace, and what the host has of the same.
type limit struct {
	name, host string
	most       int
}

var limits = []limit{
	{"user/max_user_namespaces", "", 0},
	{"user/max_inotify_instances", "fs/inotify/max_user_instances", inotifyInstances},
	{"user/max_inotify_watches", "fs/inotify/max_user_watches", inotifyWatches},
}

// Limits are the sysctls of a sandbox's user namespace. proc is the host's /proc, whose own values are read as they are now.
func Limits(proc string) ([]wire.Sysctl, error) {
	var out []wire.Sysctl
	for _, l := range limits {
		most := l.most
		if l.host != "" {
			text, err := os.ReadFile(proc + "/sys/" + l.host)
			if os.IsNotExist(err) {
				continue // a kernel without inotify
			}
			host := 0
			if err == nil {
				host, err = strconv.Atoi(strings.TrimSpace(string(text)))
			}
			if err != nil {
				return nil, wire.Fail(wire.StageSysctl, l.host, err)
			}
			most = min(most, host/4)
		}
		out = append(out, wire.Sysctl{Name: l.name, Value: strconv.Itoa(most)})
	}
	return out, nil
}

// sysctl writes one below the sys directory of a procfs and, when that is asked for, proves it by reading back.
func (b *builder) sysctl(proc opcode.Ref, name, value string, prove bool) {
	fd := b.Slot()
	b.Call(unix.SYS_OPENAT, opcode.Value(proc), b.Text("sys/"+name), opcode.Int(unix.O_RDWR|unix.O_CLOEXEC), opcode.Int(0)).Into(fd)
	b.Call(unix.SYS_WRITE, opcode.Value(fd), b.Text(value), opcode.Int(len(value))).Exactly(len(value))
	if prove {
		got := b.Reserve(32)
		b.Call(unix.SYS_PREAD64, opcode.Value(fd), opcode.At(got), opcode.Int(32), opcode.Int(0)).Exactly(len(value) + 1)
		wrong, right := b.NewLabel(), b.NewLabel()
		b.Equal(got, b.Bytes([]byte(value+"\n")), len(value)+1, unix.EIO).Then(right).On(0, wrong)
		b.Mark(wrong)
		b.Fail(fmt.Errorf("reading back another value than %s: %w", value, unix.EIO))
		b.Mark(right)
	}
	b.close(fd)
}

// Sysctls writes what sets some of the process's namespaces, by their paths below /proc/sys. It belongs before the new root,
// while the host's /proc is in view: the sandbox's own is sealed.
func Sysctls(to *opcode.Builder, stage wire.Stage, values [][2]string) {
	b := &builder{Builder: to, empty: to.Text("")}
	b.For(stage, values[0][0])
	proc := b.fresh("proc", Base|NoExec)
	for _, v := range values {
		b.For(stage, v[0])
		b.sysctl(proc, v[0], v[1], false)
	}
	b.close(proc)
}
