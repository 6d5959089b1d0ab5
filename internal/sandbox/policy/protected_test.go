package policy

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"sekisho/internal/sandbox"
)

// proves A-POL-13, A-POL-02: on a directory that knows no case every spelling of a protected name is the name.
func TestProtectedNamesWithoutCase(t *testing.T) {
	p := compile(t, base(ProfileDevelopment))
	for _, name := range []string{".envrc", ".git/hooks/x", ".git/config", ".vscode/tasks.json", "CLAUDE.md", "sub/.git/config", ".git/modules/a/hooks"} {
		for _, spelled := range []string{name, strings.ToUpper(name), strings.ToLower(name)} {
			for _, folds := range []bool{false, true} {
				d := Decide(p, Request{Kind: Filesystem, Path: "/w/" + spelled, Want: sandbox.Write, FoldsCase: folds})
				if denied := d.Reason == ReasonToolConfig; denied != (folds || spelled == name) || d.Allow == denied {
					t.Errorf("%s, without case %t: %s", spelled, folds, verdict(d))
				}
			}
		}
	}
}

// proves A-POL-14, A-POL-02: only file systems whose rules the kernel itself keeps; everything else by name.
func TestFilesystemsOfRoots(t *testing.T) {
	for name, good := range map[string]bool{
		"ext2/3/4": true, "xfs": true, "btrfs": true, "zfs": true, "f2fs": true, "bcachefs": true, "tmpfs": true, "overlay": true,
		"nfs": false, "cifs": false, "smb2": false, "9p": false, "fuse": false, "fuse.sshfs": false, "virtiofs": false, "vboxsf": false, "vfat": false, "": false, "0x12345": false,
	} {
		for what, change := range map[string]func(*SandboxPolicy, Directory){
			"workspace": func(d *SandboxPolicy, o Directory) { d.Workspaces = append(d.Workspaces, o) },
			"mount": func(d *SandboxPolicy, o Directory) {
				d.Mounts = append(d.Mounts, Mount{Directory: o, Access: AccessReadOnly})
			},
			"runtime root": func(d *SandboxPolicy, o Directory) { d.Entries[0].RuntimeRoot = &o },
			"entry":        func(d *SandboxPolicy, o Directory) { d.Entries[0].Filesystem = o.Filesystem },
		} {
			d := base(ProfileDevelopment)
			o := dir("/srv/x")
			o.Filesystem = name
			change(&d, o)
			_, err := Compile(d)
			if refused := err != nil && strings.Contains(fmt.Sprint(err), "policy_filesystem"); refused == good || good && err != nil {
				t.Errorf("a %s on %q: %v", what, name, err)
			}
		}
	}
}

// proves A-POL-12: whatever a resolver answers, the rules fit, and every name has some.
func TestRulesOfATaskAreBounded(t *testing.T) {
	n := sandbox.NetworkPolicy{Access: sandbox.NetworkRestricted}
	found := map[string][]netip.Addr{}
	for i := range 8 {
		host := fmt.Sprint("h", i, ".example")
		e := sandbox.Endpoint{Host: host}
		for port := range 8 {
			e.Ports = append(e.Ports, port+1)
		}
		n.Restricted = append(n.Restricted, e)
		for a := range 200 {
			found[host] = append(found[host], netip.AddrFrom4([4]byte{93, byte(i), 0, byte(a)}))
		}
	}
	s, denied := Snapshot(n, found, Machine{})
	perName := map[string]int{}
	for _, r := range s.Rules {
		perName[r.Host]++
	}
	if len(s.Rules) > sandbox.MaxNetworkRules || len(perName) != 8 || len(denied) > 0 {
		t.Errorf("%d rules of at most %d, by name %v, denied %v", len(s.Rules), sandbox.MaxNetworkRules, perName, denied)
	}
}
