//go:build linux

package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox/linux/wire"

	"github.com/google/go-cmp/cmp"
)

func good() Facts {
	return Facts{LandlockABI: 7, MaxUserNamespaces: 1000, TextBusy: true, Proc: true, Notify: true}
}

// proves A-ERR-01, A-SBX-01
func TestRefuse(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Facts)
		want   string
	}{
		{"good", func(*Facts) {}, ""},
		{"root ignores the switch for ordinary users", func(f *Facts) { f.UsernsOff, f.Root = true, true }, ""},
		{"WSL 1", func(f *Facts) { f.WSL1 = true }, "wsl1"},
		{"no Landlock", func(f *Facts) { f.LandlockABI = 0 }, "landlock_absent"},
		{"Landlock without truncate", func(f *Facts) { f.LandlockABI = 2 }, "landlock"},
		{"limit 0", func(f *Facts) { f.MaxUserNamespaces = 0 }, "namespace_limit"},
		{"switched off", func(f *Facts) { f.UsernsOff = true }, "userns_off"},
		{"written while running", func(f *Facts) { f.TextBusy = false }, "text_busy"},
		{"no /proc", func(f *Facts) { f.Proc = false }, "proc"},
		{"no notification", func(f *Facts) { f.Notify = false }, "seccomp"},
	} {
		f := good()
		c.change(&f)
		var got string
		if err := Refuse(f); err != nil {
			e := fault.As(err)
			if e == nil || e.Code != fault.PreflightMissingPrimitive {
				t.Errorf("%s: got %v", c.name, err)
				continue
			}
			got = e.Variant
		}
		if got != c.want {
			t.Errorf("%s: got variant %q, want %q", c.name, got, c.want)
		}
	}
}

// proves A-ERR-01, A-SBX-01
func TestExplain(t *testing.T) {
	apparmor := good()
	apparmor.AppArmorUserns = true
	asRoot := apparmor
	asRoot.Root = true
	for _, c := range []struct {
		stage wire.Stage
		errno unix.Errno
		facts Facts
		want  string
	}{
		{wire.StageClone, unix.ENOSPC, good(), "preflight.missing_primitive.namespace_limit"},
		{wire.StageClone, unix.EPERM, good(), "preflight.missing_primitive.user_namespace"},
		{wire.StageClone, unix.EINVAL, good(), "preflight.missing_primitive.user_namespace"},
		{wire.StageClone, unix.EACCES, good(), "preflight.missing_primitive.program"},
		{wire.StageNamespace, unix.EPERM, apparmor, "preflight.missing_primitive.apparmor"},
		{wire.StageMount, unix.EACCES, apparmor, "preflight.missing_primitive.apparmor"},
		{wire.StageProc, unix.EPERM, asRoot, "preflight.missing_primitive.proc_masked"},
		{wire.StageProc, unix.EPERM, good(), "preflight.missing_primitive.proc_masked"},
		{wire.StageIDMap, unix.EINVAL, good(), "preflight.missing_primitive.idmapped_mount"},
		{wire.StageMount, unix.ENOSYS, good(), "preflight.missing_primitive.mount"},
		{wire.StagePivot, unix.EINVAL, good(), "preflight.missing_primitive.mount"},
		{wire.StageLandlock, unix.EOPNOTSUPP, good(), "preflight.missing_primitive.landlock"},
		{wire.StageSeccomp, unix.EINVAL, good(), "preflight.missing_primitive.seccomp"},
		{wire.StageStop, unix.EPERM, good(), "preflight.missing_primitive.exec_stop"},
		{wire.StageSource, 0, good(), "sandbox.resolution_changed"},
	} {
		e := Explain(&wire.Failed{Stage: c.stage, Errno: int(c.errno), Target: "/x"}, c.facts)
		got := string(e.Code)
		if e.Variant != "" {
			got += "." + e.Variant
		}
		if got != c.want {
			t.Errorf("%s %v: got %s, want %s", c.stage, c.errno, got, c.want)
		}
		if e.Target != "/x" {
			t.Errorf("%s %v: target %q", c.stage, c.errno, e.Target)
		}
	}
}

// proves A-SBX-01
func TestRead(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s + "\n")} }
	got := Read(fstest.MapFS{
		"sys/kernel/osrelease":                             file("4.4.0-19041-Microsoft"),
		"sys/user/max_user_namespaces":                     file("0"),
		"sys/kernel/unprivileged_userns_clone":             file("0"),
		"sys/kernel/apparmor_restrict_unprivileged_userns": file("1"),
	})
	want := Facts{WSL1: true, UsernsOff: true, AppArmorUserns: true}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if d := cmp.Diff(Facts{MaxUserNamespaces: -1}, Read(fstest.MapFS{"sys/kernel/osrelease": file("6.6.87.2-microsoft-standard-WSL2")})); d != "" {
		t.Errorf("a machine without any of them: (-want +got)\n%s", d)
	}
}

// proves A-SBX-09
func TestDumpSocket(t *testing.T) {
	dir := t.TempDir()
	if DumpSocket(dir)() {
		t.Error("a kernel without the file sends dumps nowhere")
	}
	file := filepath.Join(dir, "sys/kernel/core_pattern")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	asked := DumpSocket(dir)
	for _, pattern := range []string{"core", "@/run/dumps", "", "|/usr/bin/x @", "@@y"} {
		if err := os.WriteFile(file, []byte(pattern+"\n"), 0o644); err != nil { // the same file
			t.Fatal(err)
		}
		if got := asked(); got != strings.HasPrefix(pattern, "@") {
			t.Errorf("%q: %v", pattern, got)
		}
	}
	// What the kernel says is asked of it each time, though the file was opened once.
	real := DumpSocket("/proc")
	for range 2 {
		if real() != CoreSocket(os.DirFS("/proc")) {
			t.Error("of this machine it says something else")
		}
	}
}

// proves A-SBX-09
func TestCoreSocket(t *testing.T) {
	for pattern, want := range map[string]bool{"@/run/dumps": true, "@@/run/dumps": true, "core": false, "|/bin/helper @x": false, "": false} {
		if got := CoreSocket(fstest.MapFS{"sys/kernel/core_pattern": {Data: []byte(pattern + "\n")}}); got != want {
			t.Errorf("%q: %t", pattern, got)
		}
	}
}

// proves A-POL-04
func TestTextBusy(t *testing.T) {
	if ok, err := TextBusy(); err != nil || !ok {
		t.Errorf("got %v %v; this machine's kernel refuses it", ok, err)
	}
}
