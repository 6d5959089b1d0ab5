//go:build linux && !cgo

package linux_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
)

// optional are the paths that only some machines have.
var optional = []string{"/etc/ld.so.cache", "/etc/ssl/certs", "/etc/alternatives"}

// proves A-SBX-01, A-SBX-04, A-SBX-07
func TestEveryMountIsListed(t *testing.T) {
	f := sandboxed(t)
	got := map[string]string{}
	for line := range strings.Lines(f.sh("cat /proc/self/mountinfo").ok(t)) {
		fields := strings.Fields(line)
		flags := slices.DeleteFunc(strings.Split(fields[5], ","), func(s string) bool { return strings.HasSuffix(s, "atime") || s == "idmapped" })
		slices.Sort(flags)
		if _, twice := got[fields[4]]; twice {
			t.Errorf("two mounts on %s", fields[4])
		}
		got[fields[4]] = strings.Join(flags, ",")
	}
	want := map[string]string{
		"/":     "nodev,noexec,nosuid,ro",
		"/proc": "nodev,noexec,nosuid,ro",
		"/usr":  "nodev,nosuid,ro",
		"/tmp":  "nodev,nosuid,rw", "/home/agent": "nodev,nosuid,rw",
		"/dev/null": "noexec,nosuid,rw", "/dev/zero": "noexec,nosuid,rw", "/dev/full": "noexec,nosuid,rw",
		"/dev/random": "noexec,nosuid,rw", "/dev/urandom": "noexec,nosuid,rw",
		"/dev/shm": "nodev,noexec,nosuid,rw",
		f.W:        "nodev,nosuid,rw",
		f.R:        "nodev,noexec,nosuid,ro",
	}
	for _, path := range append([]string{"/proc/keys", "/proc/key-users", "/proc/cmdline"}, optional...) {
		if _, err := os.Stat(path); err == nil {
			want[path] = "nodev,noexec,nosuid,ro"
		}
	}
	if fi, err := os.Lstat("/etc/localtime"); err == nil && fi.Mode().IsRegular() {
		want["/etc/localtime"] = "nodev,noexec,nosuid,ro"
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("mounts (-want +got)\n%s", d)
	}
}

// proves A-SBX-01, A-SBX-04, A-SBX-07
func TestEveryVisibleNameIsListed(t *testing.T) {
	f := sandboxed(t)
	got := strings.Fields(f.sh(`find / -xdev \( -path /usr -o -path /proc -o -path /tmp -o -path /home/agent -o -path /dev/shm -o -path "$1" -o -path "$2" \) -prune -print -o -print | sort`, f.W, f.R).ok(t))
	want := []string{"/", "/dev", "/dev/fd", "/dev/full", "/dev/null", "/dev/random", "/dev/shm", "/dev/stderr", "/dev/stdin", "/dev/stdout", "/dev/urandom", "/dev/zero",
		"/etc", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/passwd", "/etc/resolv.conf", "/home", "/home/agent", "/proc", "/tmp", "/usr"}
	for _, path := range append([]string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/localtime"}, optional...) {
		if _, err := os.Lstat(path); err == nil {
			want = append(want, path)
		}
	}
	if slices.ContainsFunc(want, func(p string) bool { return strings.HasPrefix(p, "/etc/ssl/") }) {
		want = append(want, "/etc/ssl")
	}
	for _, root := range []string{f.W, f.R} {
		for dir := root; dir != "/"; dir = filepath.Dir(dir) {
			want = append(want, dir)
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("names (-want +got)\n%s", d)
	}
	if out := f.sh("ls / >/dev/null && cat /etc/passwd && id -un && wc -c </etc/resolv.conf && hostname").ok(t); !strings.Contains(out, "\nagent\n0\nsandbox\n") || strings.Contains(out, "root") {
		t.Errorf("accounts and names: %q", out)
	}
}

// proves A-SBX-01, A-POL-02
func TestNothingOutsideTheRootsIsReached(t *testing.T) {
	f := sandboxed(t)
	if out := f.control(`cat "$1"`, f.S).ok(t); out != "secret" {
		t.Fatalf("control: %q", out)
	}
	must(t, os.Symlink(f.S, f.W+"/link"))
	must(t, os.Mkdir(f.dir+"/w-evil", 0o755))
	must(t, os.WriteFile(f.dir+"/w-evil/s", []byte("secret"), 0o644))
	for _, path := range []string{f.S, f.W + "/link", f.W + "/../secret", f.W + "//..//secret", f.dir + "/w-evil/s", "/proc/1/root" + f.S, "/proc/self/root" + f.S,
		"/etc/shadow", "/etc/hostname", "/run", "/var/lib", "/sys", "/root", "/dev/tty", "/dev/ptmx", "/dev/kmsg"} {
		if r := f.sh(`cat "$1" || ls "$1/"`, path); r.fault != nil || r.exit.Code == 0 || strings.Contains(r.out, "secret") {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

// proves A-POL-01, A-SBX-01
func TestRightsAreSeparate(t *testing.T) {
	f := declare(t)
	// What each right is needed for; the root holds prog, old, gone and dir.
	actions := map[string]sandbox.Rights{
		"cat old":                              sandbox.Read,
		"ls .":                                 sandbox.Read,
		"echo new >new":                        sandbox.Write,
		"echo more >>old":                      sandbox.Write,
		": >old":                               sandbox.Write,
		"mkdir made":                           sandbox.Write,
		"rm gone":                              sandbox.Delete,
		"rmdir dir":                            sandbox.Delete,
		"mv old other":                         sandbox.Delete | sandbox.Write,
		"./prog x":                             sandbox.Execute,
		"/lib64/ld-linux-x86-64.so.2 ./prog x": sandbox.Execute,
	}
	roots := map[string]sandbox.Rights{"r": sandbox.Read, "rw": sandbox.Read | sandbox.Write, "rx": sandbox.Read | sandbox.Execute,
		"rwd": sandbox.Read | sandbox.Write | sandbox.Delete, "rwdx": sandbox.Read | sandbox.Write | sandbox.Delete | sandbox.Execute}
	fill := func(dir string) {
		must(t, os.RemoveAll(dir+"/made"))
		os.Remove(dir + "/other")
		os.Remove(dir + "/new")
		for _, n := range []string{"old", "gone"} {
			must(t, os.WriteFile(dir+"/"+n, []byte(n), 0o644))
		}
		os.Mkdir(dir+"/dir", 0o755)
		into(t, dir, "/bin/echo")
		must(t, os.Rename(dir+"/echo", dir+"/prog"))
	}
	for name, rights := range roots {
		must(t, os.MkdirAll(f.dir+"/roots/"+name, 0o755))
		f.grant(f.dir+"/roots/"+name, rights, sandbox.OriginMount)
	}
	f.open()
	plain := f.dir + "/plain"
	must(t, os.Mkdir(plain, 0o755))
	for action, needs := range actions {
		fill(plain)
		if r := unconfined(t, plain, "/bin/sh", "-c", action); r.fault != nil || r.exit.Code != 0 {
			t.Errorf("control: %s: %+v", action, r)
		}
		for name, rights := range roots {
			dir := f.dir + "/roots/" + name
			fill(dir)
			before := snapshot(t, dir)
			r := f.sh(`cd "$1" && eval "$2"`, dir, action)
			if got, want := r.fault == nil && r.exit.Code == 0, rights.Has(needs); got != want {
				t.Errorf("%s in a root with %s: worked %v, want %v: %+v", action, rights, got, want, r)
			}
			if d := cmp.Diff(before, snapshot(t, dir)); d != "" && !rights.Has(needs) {
				t.Errorf("%s in a root with %s left an effect: %s", action, rights, d)
			}
		}
	}
}

func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		text := fi.Mode().String()
		if fi.Mode().IsRegular() && fi.Size() < 1000 {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(data)
		}
		all[path] = text
		return nil
	}))
	return all
}

// proves A-POL-02, A-POL-03
func TestRootsInsideOneAnother(t *testing.T) {
	f := declare(t)
	// A root below a root, one below /tmp and one below a directory that does not exist otherwise.
	deep := f.R + "/deep/er"
	must(t, os.MkdirAll(deep, 0o755))
	f.grant(deep, sandbox.Read|sandbox.Write|sandbox.Delete, sandbox.OriginMount)
	tmp, err := os.MkdirTemp("/tmp", "sekisho-test-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(tmp) })
	f.grant(tmp, sandbox.Read|sandbox.Write, sandbox.OriginMount)
	f.open()
	f.sh(`echo a >"$1/file" && echo b >"$2/file" && ! echo c >"$3/file2"`, deep, tmp, f.R).ok(t)
	for path, want := range map[string]string{deep + "/file": "a\n", tmp + "/file": "b\n"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q %v", path, got, err)
		}
	}
}

// proves A-POL-02
func TestReplacedRootIsRefused(t *testing.T) {
	for name, replace := range map[string]func(string){
		"another directory": func(path string) { must(t, os.Rename(path, path+".old")); must(t, os.Mkdir(path, 0o755)) },
		"a link to it":      func(path string) { must(t, os.Rename(path, path+".old")); must(t, os.Symlink(path+".old", path)) },
		"a file":            func(path string) { must(t, os.Rename(path, path+".old")); must(t, os.WriteFile(path, nil, 0o644)) },
		"nothing":           func(path string) { must(t, os.Rename(path, path+".old")) },
	} {
		f := declare(t)
		replace(f.R)
		result{fault: f.tryOpen()}.coded(t, fault.SandboxResolutionChanged)
		if fault.As(f.tryOpen()).Target != f.R {
			t.Errorf("%s: the refusal does not name the root", name)
		}
	}
}

// tryOpen applies, opens, closes and reverts, and returns what Open said.
func (f *fixture) tryOpen() error {
	ctx := within(f.t)
	steps, err := f.backend.Plan(f.policy)
	must(f.t, err)
	var undos []sandbox.Undo
	for _, s := range steps {
		u, err := f.backend.Observe(ctx, s)
		must(f.t, err)
		must(f.t, f.backend.Apply(ctx, s, u))
		undos = append(undos, u)
	}
	job, err := f.backend.Open(ctx, f.policy, undos)
	if job != nil {
		must(f.t, job.Close(ctx))
	}
	for _, u := range slices.Backward(undos) {
		must(f.t, f.backend.Revert(ctx, u))
	}
	return err
}

// proves A-POL-02, A-SBX-01
func TestMountsBelowARootStayOutside(t *testing.T) {
	f := declare(t)
	dir := os.Getenv(mountEnv)
	if dir == "" && os.Geteuid() != 0 {
		return // an ordinary user cannot make them; the run that root starts has them
	}
	if dir == "" {
		dir = f.dir + "/mounted"
		undo, err := mountBelow(dir)
		t.Cleanup(undo)
		must(t, err)
	}
	const look = `cat "$1/inner/secret" "$1/file"; ls "$1"`
	if out := f.control(look, dir).ok(t); !strings.Contains(out, "mounted secretmounted secret") {
		t.Fatalf("control: %q", out)
	}
	f.grant(dir, sandbox.Read, sandbox.OriginMount)
	f.open()
	if out := f.sh(look, dir).ok(t); out != "file\ninner\n" {
		t.Errorf("got %q", out)
	}
}

// A root in a mount of the host below another root: the way to it is visible, and nothing beside the way.
//
// proves A-POL-14, A-POL-02, A-SBX-01
func TestARootInAMountBelowARoot(t *testing.T) {
	f := declare(t)
	dir := os.Getenv(mountEnv)
	if dir == "" && os.Geteuid() != 0 {
		return // an ordinary user cannot make them; the run that root starts has them
	}
	if dir == "" {
		dir = f.dir + "/mounted"
		undo, err := mountBelow(dir)
		t.Cleanup(undo)
		must(t, err)
	}
	f.grant(dir, sandbox.Read, sandbox.OriginMount)
	f.grant(dir+"/inner/a/root", sandbox.Read, sandbox.OriginMount)
	f.open()
	const look = `cat "$1/inner/a/root/known"; cat "$1/inner/secret" "$1/inner/a/unknown"; ls "$1/inner" "$1/inner/a"; touch "$1/inner/a/x"; echo`
	if out := f.control(look, dir).ok(t); strings.Count(out, "mounted secret") != 3 {
		t.Fatalf("control: %q", out)
	}
	if out := f.sh(look, dir).ok(t); strings.Count(out, "mounted secret") != 1 || strings.Contains(out, "unknown") || !strings.Contains(out, "root\n") {
		t.Errorf("got %q", out)
	}
	set, err := rootio.NewSet(fileop.OS(), f.policy.Roots, nil)
	must(t, err)
	defer set.Close()
	for name, want := range map[string]fault.Code{"/inner/a/root/known": "", "/inner/secret": fault.PolicyDenied, "/inner/a/unknown": fault.PolicyDenied} {
		target, err := set.Resolve(dir+name, rootio.Existing)
		if err == nil {
			target.Close()
		}
		if fault.CodeOf(err) != want {
			t.Errorf("file tools, %s: %v", name, err)
		}
	}
}

// proves A-SBX-01
func TestManyRoots(t *testing.T) {
	f := declare(t)
	const many = 300 // more than one message between the processes carries
	for i := range many {
		dir := fmt.Sprintf("%s/many/%03d", f.dir, i)
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.WriteFile(dir+"/x", []byte("x"), 0o644))
		f.grant(dir, sandbox.Read, sandbox.OriginMount)
	}
	f.open()
	if out := f.sh(`cat "$1"/*/x | wc -c`, f.dir+"/many").ok(t); strings.TrimSpace(out) != fmt.Sprint(many) {
		t.Errorf("got %q", out)
	}
}

// proves A-POL-06, A-POL-09
func TestUnenforceablePoliciesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*sandbox.EffectivePolicy)
		want   fault.Code
	}{
		"a rule that nobody serves": {func(p *sandbox.EffectivePolicy) {
			p.Network.Access, p.Task.Network.Rules = sandbox.NetworkLocal, []sandbox.NetworkRule{{ID: "n1", Address: netip.MustParseAddrPort("127.0.0.1:1")}}
		}, fault.ConfinementUnsupported},
		"a rule without a network": {func(p *sandbox.EffectivePolicy) {
			p.Task.Network.Rules = []sandbox.NetworkRule{{ID: "n1", Address: netip.MustParseAddrPort("127.0.0.1:1")}}
		}, fault.ConfinementUnsupported},
		"an unknown network": {func(p *sandbox.EffectivePolicy) { p.Network.Access = "lan" }, fault.ConfinementUnsupported},
		"no memory limit":    {func(p *sandbox.EffectivePolicy) { p.Resources.MemoryMB = 0 }, fault.ConfinementUnsupported},
	} {
		f := declare(t)
		c.change(&f.policy)
		_, err := f.backend.Plan(f.policy)
		result{fault: err}.coded(t, c.want)
		_, err = f.backend.Open(within(t), f.policy, nil)
		result{fault: err}.coded(t, c.want)
		_ = name
	}
	for _, path := range []string{"/", "/proc", "/proc/sys", "/dev", "/dev/shm", "/etc", "/tmp"} {
		f := declare(t)
		f.grant(path, sandbox.Read, sandbox.OriginMount)
		result{fault: f.tryOpen()}.coded(t, fault.ConfinementUnsupported)
	}
}

// What the kernel tells everybody in /proc about the keys of the host's user and the boot of the machine is not told inside. The
// control is this process, which is told.
//
// proves A-SBX-04
func TestProcTellsNothingOfTheHostsUser(t *testing.T) {
	f := sandboxed(t)
	shown := 0
	for _, name := range []string{"keys", "key-users", "cmdline"} {
		outside, err := os.ReadFile("/proc/" + name)
		if err == nil && len(outside) > 0 {
			shown++
		}
		r := f.sh("cat /proc/" + name)
		if r.exit.Code == 0 || r.out != "" {
			t.Errorf("/proc/%s says %q", name, r.out)
		}
	}
	if shown == 0 {
		t.Error("this kernel tells nothing of it anyway: nothing was shown")
	}
	f.sh("cat /proc/meminfo /proc/cpuinfo /proc/stat /proc/self/status >/dev/null").ok(t)
}
