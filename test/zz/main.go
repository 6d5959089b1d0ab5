//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/host"
	"sekisho/internal/sandbox/resolve"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	n, _ := strconv.Atoi(os.Args[2])
	b, err := host.Open(host.Options{Program: os.Args[3], Files: fileop.OS()})
	must(err)
	dir, err := os.MkdirTemp("/tmp", "pid1-drv-")
	must(err)
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o755)
	var p sandbox.EffectivePolicy
	p.Profile = "development"
	p.Network.Access = sandbox.NetworkNone
	p.Resources = sandbox.ResourcePolicy{Profile: "normal", MemoryMB: 512, ProcessLimit: 16, TimeoutSeconds: 120, Cgroup: "auto"}
	p.Task = sandbox.TaskBinding{Instance: fmt.Sprintf("drv-%d", os.Getpid()), Temp: filepath.Join(dir, "temp"), Home: filepath.Join(dir, "home")}
	ws := filepath.Join(dir, "ws")
	for _, d := range []string{p.Task.Temp, p.Task.Home, ws} {
		must(os.Mkdir(d, 0o700))
	}
	runtime, err := resolve.OSRuntime()
	must(err)
	for _, r := range runtime {
		p.Roots = append(p.Roots, sandbox.Root{Path: r.Path, Rights: sandbox.Read | sandbox.Execute, Origins: []sandbox.Origin{sandbox.OriginOSRuntimeRoot}, ID: r.ID})
	}
	var st syscall.Stat_t
	must(syscall.Lstat(ws, &st))
	p.Roots = append(p.Roots, sandbox.Root{Path: ws, Rights: 15, Origins: []sandbox.Origin{sandbox.OriginWorkspace}, ID: sandbox.FileID{Dev: uint64(st.Dev), Ino: st.Ino}})
	slices.SortFunc(p.Roots, func(a, b sandbox.Root) int { return strings.Compare(a.Path, b.Path) })
	exe, err := resolve.Executable("/usr/bin/true")
	must(err)
	c := sandbox.Command{Path: exe.Path, ID: exe.ID, SHA256: exe.SHA256, Dir: ws}
	var undos []sandbox.Undo
	var job sandbox.Job
	var phases [6]time.Duration
	open := func(i int) {
		t0 := time.Now()
		p.Task.Task = fmt.Sprintf("t-%d", i)
		steps, err := b.Plan(p)
		must(err)
		undos = nil
		for _, s := range steps {
			u, err := b.Observe(ctx, s)
			must(err)
			undos = append(undos, u)
			must(b.Apply(ctx, s, u))
		}
		t1 := time.Now()
		job, err = b.Open(ctx, p, undos)
		must(err)
		t2 := time.Now()
		phases[0] += t1.Sub(t0)
		phases[1] += t2.Sub(t1)
	}
	closeIt := func() {
		t0 := time.Now()
		must(job.Close(ctx))
		t1 := time.Now()
		for _, u := range slices.Backward(undos) {
			must(b.Revert(ctx, u))
		}
		t2 := time.Now()
		phases[3] += t1.Sub(t0)
		phases[4] += t2.Sub(t1)
	}
	run := func() {
		t0 := time.Now()
		pr, err := job.Start(ctx, c)
		must(err)
		t1 := time.Now()
		_, err = pr.Wait(ctx)
		must(err)
		phases[2] += t1.Sub(t0)
		phases[5] += time.Since(t1)
	}
	plain := func() {
		null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		defer null.Close()
		pr, err := os.StartProcess("/usr/bin/true", []string{"true"}, &os.ProcAttr{Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Files: []*os.File{null, null, null}})
		must(err)
		pr.Wait()
	}
	med := func(f func()) time.Duration {
		var all []time.Duration
		for range n {
			t := time.Now()
			f()
			all = append(all, time.Since(t))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	show := func() {
		for i, name := range []string{"apply", "open", "start", "close", "revert", "wait"} {
			fmt.Printf("   %s %v", name, phases[i]/time.Duration(n))
		}
		fmt.Println()
		phases = [6]time.Duration{}
	}
	for _, what := range strings.Split(os.Args[1], ",") {
		switch what {
		case "plain":
			fmt.Println("plain", med(plain))
		case "warm":
			open(0)
			run()
			phases = [6]time.Duration{}
			fmt.Println("warm", med(run))
			show()
			closeIt()
			phases = [6]time.Duration{}
		case "cold":
			i := 1
			fmt.Println("cold", med(func() { i++; open(i); run(); closeIt() }))
			show()
		}
	}
}
