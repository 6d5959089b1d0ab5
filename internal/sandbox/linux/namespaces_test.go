//go:build linux && !cgo

package linux_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Each namespace is the sandbox's own, also where something else already refuses what it hides: without a network the filter
// denies every socket, and the host's interfaces are still not there.
//
// proves A-SBX-04, A-SBX-05
func TestEveryNamespaceIsTheSandboxsOwn(t *testing.T) {
	f := sandboxed(t)
	const script = "for n in user mnt pid net ipc uts cgroup; do readlink /proc/self/ns/$n; done; tail -n +3 /proc/net/dev | cut -d: -f1"
	inside, outside := strings.Fields(f.sh(script).ok(t)), strings.Fields(f.control(script).ok(t))
	if len(inside) < 7 || len(outside) < 7 {
		t.Fatalf("namespaces inside %q, outside %q", inside, outside)
	}
	for n, kind := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		own, err := os.Readlink("/proc/self/ns/" + kind)
		must(t, err)
		if outside[n] != own {
			t.Errorf("control: %s is %s unconfined, and %s here", kind, outside[n], own)
		}
		if inside[n] == own || !strings.HasPrefix(inside[n], fmt.Sprintf("%s:[", kind)) {
			t.Errorf("the host's %s namespace is inside: %q", kind, inside[n])
		}
	}
	if devices := inside[7:]; len(devices) != 1 || devices[0] != "lo" {
		t.Errorf("network devices inside: %q", devices)
	}
}
