//go:build linux && !cgo

package linux_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// spare builds one as the broker does. The cleanup proves that nothing is left of it, whoever took it.
func (f *fixture) spare() sandbox.Spare {
	f.t.Helper()
	f.apply()
	s, err := f.backend.Spare(within(f.t), f.policy, f.undos)
	must(f.t, err)
	f.job = s
	return s
}

// guarded lays a configuration that a task must leave alone into the workspace, and guards it as a survey would.
func (f *fixture) guarded() {
	f.t.Helper()
	must(f.t, os.Mkdir(f.W+"/.git", 0o755))
	must(f.t, os.WriteFile(f.W+"/.git/config", []byte("old"), 0o644))
	f.policy.Task.Guards = []sandbox.Guard{{Path: f.W + "/.git", Reason: sandbox.GuardPassage, Kind: "directory"},
		{Path: f.W + "/.git/config", Reason: sandbox.GuardToolConfig, Kind: "file"}}
}

// proves A-SBX-11, A-SBX-03
func TestASpareBecomesTheTasksSandbox(t *testing.T) {
	f := declare(t)
	f.guarded()
	s := f.spare()
	if _, err := s.Start(within(t), f.command("/bin/true")); err == nil {
		t.Fatal("a program ran in a spare that no task has taken")
	}
	must(t, os.WriteFile(f.R+"/later", []byte("later"), 0o644)) // what lies in the roots is not a part of the sandbox
	p := f.policy
	p.Task.Task, p.Environment = "another", map[string]string{"GREETING": "hello"}
	must(t, s.Take(within(t), p))
	want := "hello later old 0 denied 1"
	script := `echo $GREETING $(cat "$1/later") $(cat .git/config) $(ls -A /tmp | wc -l) $(echo x 2>/dev/null >.git/config || echo denied) $(echo x >f && cat /proc/self/status | grep -c '^NoNewPrivs:.1')`
	if got := strings.TrimSpace(f.sh(script, f.R).ok(t)); got != want {
		t.Errorf("the task saw %q, want %q", got, want)
	}
	if err := s.Take(within(t), p); err == nil {
		t.Error("a spare was taken twice")
	}
}

// swap puts another object of the same kind under a name; what lay there stays under another.
func swap(t *testing.T, path string) {
	t.Helper()
	st, err := os.Lstat(path)
	must(t, err)
	must(t, os.Rename(path, path+".old"))
	if st.IsDir() {
		must(t, os.Mkdir(path, st.Mode().Perm()))
		return
	}
	must(t, os.WriteFile(path, []byte("new"), st.Mode().Perm()))
}

// Each change makes a new sandbox another one than the spare, or none at all.
//
// proves A-SBX-11, A-POL-14, A-POL-13, A-POL-02, A-SBX-01
func TestAStaleSpareIsNotTaken(t *testing.T) {
	for name, c := range map[string]struct {
		root   bool // only root can make it
		before func(*fixture)
		after  func(*fixture, *sandbox.EffectivePolicy)
		taken  bool
	}{
		"nothing changed": {taken: true},
		"a file of the workspace changed": {taken: true, after: func(f *fixture, _ *sandbox.EffectivePolicy) {
			must(f.t, os.WriteFile(f.W+"/file", []byte("new"), 0o644))
		}},
		"the workspace is another directory": {after: func(f *fixture, _ *sandbox.EffectivePolicy) { swap(f.t, f.W) }},
		"the workspace is gone":              {after: func(f *fixture, _ *sandbox.EffectivePolicy) { must(f.t, os.Rename(f.W, f.W+".old")) }},
		"the workspace is a link to itself": {after: func(f *fixture, _ *sandbox.EffectivePolicy) {
			must(f.t, os.Rename(f.W, f.W+".old"))
			must(f.t, os.Symlink(f.W+".old", f.W))
		}},
		"another workspace was approved": {after: func(f *fixture, p *sandbox.EffectivePolicy) {
			swap(f.t, f.W)
			f.policy.Roots = nil
			f.grant(f.W, sandbox.Read|sandbox.Write|sandbox.Delete|sandbox.Execute, sandbox.OriginWorkspace)
			for i, r := range p.Roots {
				if r.Path == f.W {
					p.Roots[i] = f.policy.Roots[0]
				}
			}
		}},
		"a root that can be read is another directory": {after: func(f *fixture, _ *sandbox.EffectivePolicy) { swap(f.t, f.R) }},
		"a directory above the roots was replaced": {after: func(f *fixture, _ *sandbox.EffectivePolicy) {
			must(f.t, os.Rename(f.dir, f.dir+".old"))
			f.t.Cleanup(func() { os.RemoveAll(f.dir); os.Rename(f.dir+".old", f.dir) })
			for _, d := range []string{"", "/w", "/r", "/temp", "/home"} {
				must(f.t, os.Mkdir(f.dir+d, 0o755))
			}
		}},
		"TEMP is another directory": {after: func(f *fixture, _ *sandbox.EffectivePolicy) { swap(f.t, f.dir+"/temp") }},
		"HOME is another directory": {after: func(f *fixture, _ *sandbox.EffectivePolicy) { swap(f.t, f.dir+"/home") }},
		"the task has another TEMP": {after: func(f *fixture, p *sandbox.EffectivePolicy) {
			p.Task.Temp = f.dir + "/temp2"
			must(f.t, os.Mkdir(p.Task.Temp, 0o700))
		}},
		"a guarded file is another file": {before: (*fixture).guarded, after: func(f *fixture, _ *sandbox.EffectivePolicy) { swap(f.t, f.W+"/.git/config") }},
		"a guarded file has its name again, not its mount": {before: (*fixture).guarded, after: func(f *fixture, _ *sandbox.EffectivePolicy) {
			must(f.t, os.Rename(f.W+"/.git/config", f.W+"/.git/aside"))
			must(f.t, os.Link(f.W+"/.git/aside", f.W+"/.git/config"))
		}},
		"a guarded file is gone": {before: (*fixture).guarded, after: func(f *fixture, _ *sandbox.EffectivePolicy) { must(f.t, os.Remove(f.W+"/.git/config")) }},
		"a guarded directory is another one": {before: (*fixture).guarded, after: func(f *fixture, _ *sandbox.EffectivePolicy) {
			swap(f.t, f.W+"/.git")
			must(f.t, os.Link(f.W+"/.git.old/config", f.W+"/.git/config"))
		}},
		"something else is guarded": {before: (*fixture).guarded, after: func(f *fixture, p *sandbox.EffectivePolicy) { p.Task.Guards = p.Task.Guards[:1] }},
		"less memory":               {after: func(_ *fixture, p *sandbox.EffectivePolicy) { p.Resources.MemoryMB = 64 }},
		"fewer processes":           {after: func(_ *fixture, p *sandbox.EffectivePolicy) { p.Resources.ProcessLimit = 2 }},
		"another profile":           {after: func(_ *fixture, p *sandbox.EffectivePolicy) { p.Profile = "readonly" }},
		"a root with fewer rights": {after: func(f *fixture, p *sandbox.EffectivePolicy) {
			for i, r := range p.Roots {
				if r.Path == f.W {
					p.Roots[i].Rights = sandbox.Read
				}
			}
		}},
		"one root less":   {after: func(_ *fixture, p *sandbox.EffectivePolicy) { p.Roots = p.Roots[1:] }},
		"a network":       {after: func(_ *fixture, p *sandbox.EffectivePolicy) { p.Network.Access = sandbox.NetworkLocal }},
		"PID 1 is killed": {after: func(f *fixture, _ *sandbox.EffectivePolicy) { f.killFirst() }},
		"a file system is mounted in the workspace": {root: true, before: func(f *fixture) { must(f.t, os.Mkdir(f.W+"/below", 0o755)) }, after: func(f *fixture, _ *sandbox.EffectivePolicy) {
			must(f.t, unix.Mount("none", f.W+"/below", "tmpfs", 0, ""))
			f.t.Cleanup(func() { unix.Unmount(f.W+"/below", unix.MNT_DETACH) })
		}},
		"a file system is mounted over the workspace": {root: true, after: func(f *fixture, _ *sandbox.EffectivePolicy) {
			must(f.t, unix.Mount("none", f.W, "tmpfs", 0, ""))
			f.t.Cleanup(func() { unix.Unmount(f.W, unix.MNT_DETACH) })
		}},
		"the workspace's mount became read-only": {root: true, before: func(f *fixture) {
			must(f.t, unix.Mount(f.W, f.W, "", unix.MS_BIND, ""))
			f.t.Cleanup(func() { unix.Unmount(f.W, unix.MNT_DETACH) })
		}, after: func(f *fixture, _ *sandbox.EffectivePolicy) {
			must(f.t, unix.Mount("none", f.W, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
		}},
		"the workspace belongs to somebody else": {root: true, after: func(f *fixture, _ *sandbox.EffectivePolicy) { must(f.t, os.Chown(f.W, otherID, otherID)) }},
	} {
		t.Run(name, func(t *testing.T) {
			if c.root && os.Geteuid() != 0 {
				return // told by the run as root
			}
			f := declare(t)
			if c.before != nil {
				c.before(f)
			}
			s := f.spare()
			p := f.policy
			p.Roots = append([]sandbox.Root(nil), p.Roots...)
			if c.after != nil {
				c.after(f, &p)
			}
			switch err := s.Take(within(t), p); {
			case c.taken:
				must(t, err)
				f.sh("true").ok(t)
			case err == nil:
				r := f.sh(`cat .git/config; ls -A; mount; id`)
				t.Errorf("taken; a program in it saw\n%s\n%s %v", r.out, r.err, r.fault)
			default:
				t.Log(err)
			}
		})
	}
}

// killFirst ends PID 1 of the only sandbox and waits until it has ended.
func (f *fixture) killFirst() {
	f.t.Helper()
	pids := inits(f.t)
	if len(pids) != 1 {
		f.t.Fatalf("sandboxes of this process: %v", pids)
	}
	fd, err := unix.PidfdOpen(pids[0], 0)
	must(f.t, err)
	defer unix.Close(fd)
	must(f.t, unix.Kill(pids[0], syscall.SIGKILL))
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if err != unix.EINTR {
			must(f.t, err)
			return
		}
	}
}

// proves A-SBX-11
func TestADeadSpareTells(t *testing.T) {
	f := declare(t)
	s := f.spare()
	select {
	case <-s.Lost():
		t.Fatal("lost at once")
	default:
	}
	f.killFirst()
	select {
	case <-s.Lost():
	case <-within(t).Done():
		t.Error("nobody noticed the death of a spare")
	}
}

// proves A-SBX-11, A-POL-06
func TestASpareHasNoNetwork(t *testing.T) {
	f := declare(t)
	f.policy.Network.Access = sandbox.NetworkLocal
	if s, err := f.backend.Spare(within(t), f.policy, nil); !errors.Is(err, sandbox.ErrNoSpare) {
		t.Errorf("got %v, %v", s, err)
	}
}

// A spare has its private copies from the time when it was built. What is not the approved script any more does not start, in a
// spare as in any other sandbox.
//
// proves A-SBX-11, A-POL-11
func TestAScriptInASpareIsTheApprovedOne(t *testing.T) {
	f := declare(t)
	path := script(t, f.W+"/tool", "#!/bin/sh\necho approved\n")
	tool := f.approve(path)
	s := f.spare()
	must(t, os.WriteFile(path, []byte("#!/bin/sh\necho evil\n"), 0o755)) // in place: the copy hides it
	must(t, s.Take(within(t), f.policy))
	if out := f.run(tool()).ok(t); out != "approved\n" {
		t.Errorf("the copy: %q", out)
	}
	swap(t, path) // another file: its mount is gone, and the new one was never approved
	f.run(tool()).coded(t, fault.ExecutableHashChanged)
}
