//go:build linux && !cgo

package linux_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/resolve"
)

// An overlay as a root, for a server that is root: where the kernel maps no ids on it the task is refused by that name, and
// nothing runs.
//
// proves A-POL-14, A-PRI-05
func TestAnOverlayNeedsIDMappedMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		return // an ordinary user can make no overlay here and needs no mapping
	}
	f := declare(t)
	for _, d := range []string{"/lower", "/upper", "/work", "/over"} {
		must(t, os.Mkdir(f.dir+d, 0o755))
	}
	base := t.TempDir() // an overlay over an overlay is not possible everywhere
	must(t, unix.Mount("none", base, "tmpfs", 0, ""))
	defer unix.Unmount(base, unix.MNT_DETACH)
	for _, d := range []string{"/lower", "/upper", "/work"} {
		must(t, os.Mkdir(base+d, 0o755))
	}
	must(t, unix.Mount("none", f.dir+"/over", "overlay", 0, fmt.Sprintf("lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", base, base, base)))
	defer unix.Unmount(f.dir+"/over", unix.MNT_DETACH)
	r, err := resolve.Root(f.dir + "/over")
	must(t, err)
	if r.Filesystem != "overlay" {
		t.Fatalf("it is %s", r.Filesystem)
	}
	f.grant(f.dir+"/over", sandbox.Read|sandbox.Write|sandbox.Delete|sandbox.Execute, sandbox.OriginWorkspace)
	switch err := f.tryOpen(); {
	case err == nil:
		t.Log("this kernel maps ids on overlays")
	case errors.Is(err, fault.New(fault.PreflightMissingPrimitive, fault.Variant("idmapped_mount"))) && strings.Contains(fault.As(err).Target, "/over"):
		t.Logf("refused: %v", err)
	default:
		t.Errorf("got %v", err)
	}
}

// A mount below a root whose server never answers holds nobody up, neither the opening nor a program that looks around.
//
// proves A-POL-14, A-SBX-01
func TestADeadMountBelowARoot(t *testing.T) {
	f := declare(t)
	if os.Geteuid() != 0 {
		return // an ordinary user cannot make one
	}
	server, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Logf("no FUSE here: %v", err)
		return
	}
	defer server.Close()
	dead := f.W + "/dead"
	must(t, os.Mkdir(dead, 0o755))
	must(t, unix.Mount("dead", dead, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", server.Fd())))
	defer unix.Unmount(dead, unix.MNT_DETACH)
	f.open()
	if out := f.sh(`ls; ls -A dead; touch dead/x || echo refused`).ok(t); out != "dead\nrefused\n" {
		t.Errorf("got %q", out)
	}
}
