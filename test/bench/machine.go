//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// header says what was measured on, without naming the machine.
func (b *bench) header() {
	kernel := "unknown"
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		kernel = unix.ByteSliceToString(u.Release[:])
	}
	filesystem := "unknown"
	if mounts, err := os.ReadFile("/proc/self/mounts"); err == nil {
		filesystem = filesystemOf(string(mounts), b.dir)
	}
	user := "an ordinary user"
	if os.Geteuid() == 0 {
		user = "root"
	}
	load := "unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(text), " ")
	}
	fmt.Printf("Linux %s, %s, %d cores, load %s, %s, as %s, %s\n", kernel, runtime.GOARCH, runtime.NumCPU(), load, filesystem, user, runtime.Version())
	fmt.Println("Figures are medians of interleaved pairs (A B A B ...); ratios are taken pair by pair. Compare ratios, not times.")
	if !b.meter.works() {
		fmt.Println("cpu rows are not-run:", b.meter.reason)
	}
}

// filesystemOf names the type of the mount that holds path.
func filesystemOf(mounts, path string) string {
	best, kind := "", "unknown"
	for l := range strings.Lines(mounts) {
		f := strings.Fields(l)
		if len(f) < 3 || len(f[1]) < len(best) {
			continue
		}
		if rest, ok := strings.CutPrefix(path, f[1]); ok && (f[1] == "/" || rest == "" || rest[0] == '/') {
			best, kind = f[1], f[2]
		}
	}
	return kind
}
