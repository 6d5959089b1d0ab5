package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux"
	"sekisho/internal/sandbox/resolve"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	b, err := linux.New(linux.Options{Program: os.Args[1], Files: fileop.OS()})
	must(err)
	ctx := context.Background()
	exe, err := resolve.Executable("/usr/bin/true")
	must(err)
	n := 60
	p := sandbox.EffectivePolicy{Profile: "development", Network: sandbox.NetworkPolicy{Access: "none"},
		Resources: sandbox.ResourcePolicy{MemoryMB: 512, ProcessLimit: 16, TimeoutSeconds: 60, Cgroup: "auto"}, Task: sandbox.TaskBinding{Instance: fmt.Sprint("bench", os.Getpid()), Task: "t"}}
	rs, _ := resolve.OSRuntime()
	for _, r := range rs {
		p.Roots = append(p.Roots, sandbox.Root{Path: r.Path, Rights: 9, Origins: []sandbox.Origin{"os_runtime_root"}, ID: r.ID})
	}
	steps, err := b.Plan(p)
	must(err)
	var undos []sandbox.Undo
	apply := func() {
		undos = nil
		for _, s := range steps {
			u, err := b.Observe(ctx, s)
			must(err)
			must(b.Apply(ctx, s, u))
			undos = append(undos, u)
		}
	}
	revert := func() {
		for _, u := range slices.Backward(undos) {
			must(b.Revert(ctx, u))
		}
	}
	run := func(j sandbox.Job) {
		pr, err := j.Start(ctx, sandbox.Command{Path: exe.Path, ID: exe.ID, SHA256: exe.SHA256, Dir: "/"})
		must(err)
		_, err = pr.Wait(ctx)
		must(err)
	}
	plain := func() {
		pr, err := os.StartProcess(exe.Path, []string{"true"}, &os.ProcAttr{Files: []*os.File{nil, nil, nil}})
		must(err)
		pr.Wait()
	}
	bw := func() {
		pr, err := os.StartProcess("/usr/bin/bwrap", []string{"bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--die-with-parent", "/usr/bin/true"}, &os.ProcAttr{Files: []*os.File{nil, nil, nil}})
		must(err)
		pr.Wait()
	}
	_, bwErr := os.Stat("/usr/bin/bwrap")
	var t [5][]time.Duration
	m := func(k int, f func()) { s := time.Now(); f(); t[k] = append(t[k], time.Since(s)) }
	apply()
	j, err := b.Open(ctx, p, undos)
	must(err)
	for i := 0; i < n; i++ {
		m(0, plain)
		m(1, func() { run(j) })
	}
	must(j.Close(ctx))
	revert()
	for i := 0; i < 20; i++ {
		m(2, func() {
			apply()
			j, err := b.Open(ctx, p, undos)
			must(err)
			run(j)
			must(j.Close(ctx))
			revert()
		})
		if bwErr == nil {
			m(3, bw)
		}
		m(4, func() { must(b.Preflight(ctx)) })
	}
	for k, name := range []string{"plain", "warm", "cold", "bwrap", "preflight"} {
		if len(t[k]) == 0 {
			continue
		}
		slices.Sort(t[k])
		fmt.Println(name, t[k][len(t[k])/2], "x", float64(t[k][len(t[k])/2])/float64(t[0][len(t[0])/2]))
	}
}
