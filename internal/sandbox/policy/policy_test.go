package policy

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/sandbox"
)

const (
	r    = sandbox.Read
	rx   = sandbox.Read | sandbox.Execute
	rw   = sandbox.Read | sandbox.Write
	rwd  = sandbox.Read | sandbox.Write | sandbox.Delete
	rwdx = rwd | sandbox.Execute
)

var inode uint64

func dir(path string) Directory {
	inode++
	return Directory{Declared: path, Path: path, ID: sandbox.FileID{Dev: 1, Ino: inode}, Filesystem: "ext2/3/4"}
}

func mount(path, access string) Mount { return Mount{Directory: dir(path), Access: access} }

func entry(alias, path, runtimeRoot string) Entry {
	inode++
	e := Entry{Alias: alias, Declared: path, Path: path, ID: sandbox.FileID{Dev: 1, Ino: inode}, SHA256: "ab", Filesystem: "xfs"}
	if runtimeRoot != "" {
		d := dir(runtimeRoot)
		e.RuntimeRoot = &d
	}
	return e
}

// base is a policy that compiles: a workspace, a mount, a tool chain, a shell.
func base(profile string) SandboxPolicy {
	return SandboxPolicy{
		Profile:    profile,
		Workspaces: []Directory{dir("/w")},
		Mounts:     []Mount{mount("/m", AccessReadOnly)},
		Entries:    []Entry{entry("go", "/opt/go/bin/go", "/opt/go"), entry("sh", "/usr/bin/dash", "")},
		OSRuntime:  []Directory{{Path: "/usr", ID: sandbox.FileID{Dev: 1, Ino: 1}, Filesystem: "squashfs"}},
		Network:    sandbox.NetworkPolicy{Access: sandbox.NetworkNone},
		Resources:  Resources{Profile: "normal", Cgroup: CgroupAuto},
		Protected: []Protected{
			{Kind: "configuration", Path: "/home/u/.config/agent.yaml"},
			{Kind: "state_root", Path: "/home/u/.local/state/agent", Directory: true, Above: []sandbox.FileID{{Dev: 9, Ino: 9}}},
		},
	}
}

func compile(t *testing.T, d SandboxPolicy) *sandbox.EffectivePolicy {
	t.Helper()
	p, err := Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func rootList(p *sandbox.EffectivePolicy) []string {
	var out []string
	for _, r := range p.Roots {
		out = append(out, fmt.Sprintf("%s %s %v", r.Path, r.Rights, r.Origins))
	}
	return out
}

// proves A-POL-01, A-POL-04, A-POL-08
func TestRightsFollowOrigins(t *testing.T) {
	d := base(ProfileDevelopment)
	d.Mounts = append(d.Mounts, mount("/m2", AccessReadWrite), mount("/m3", AccessReadWriteDelete))
	p := compile(t, d)
	want := []string{
		"/m read [mount]",
		"/m2 read, write [mount]",
		"/m3 read, write, delete [mount]",
		"/opt/go read, execute [runtime_root]",
		"/opt/go/bin/go read, execute [approved_entry_executable]",
		"/usr read, execute [os_runtime_root]",
		"/usr/bin/dash read, execute [approved_shell_executable]",
		"/w read, write, delete, execute [workspace]",
	}
	if diff := cmp.Diff(want, rootList(p)); diff != "" {
		t.Errorf("development (-want +got):\n%s", diff)
	}
	wantEntries := []sandbox.Entry{
		{Alias: "go", Class: sandbox.ClassEntry, Path: "/opt/go/bin/go", SHA256: "ab", RuntimeRoot: "/opt/go"},
		{Alias: "sh", Class: sandbox.ClassShell, Path: "/usr/bin/dash", SHA256: "ab"},
	}
	if diff := cmp.Diff(wantEntries, p.Entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if i := slices.IndexFunc(p.Roots, func(r sandbox.Root) bool { return r.Path == "/opt/go/bin/go" }); !p.Roots[i].File {
		t.Error("an entry grants more than its file")
	}
	p = compile(t, base(ProfileReadonly))
	if got := rootList(p)[len(p.Roots)-1]; got != "/w read [workspace]" {
		t.Errorf("readonly workspace: %s", got)
	}
	if len(p.Baseline) == 0 {
		t.Error("no baseline grant is reported")
	}
}

// proves A-POL-03
func TestSameRootTwiceAndNestedRoots(t *testing.T) {
	d := base(ProfileDevelopment)
	d.Mounts = []Mount{mount("/m", AccessReadOnly), mount("/m", AccessReadWrite), mount("/w", AccessReadOnly)}
	d.Entries = []Entry{entry("tool", "/w/bin/tool", "/w/rt"), entry("other", "/w/bin/tool", "")}
	p := compile(t, d)
	want := []string{
		"/m read, write [mount]",
		"/usr read, execute [os_runtime_root]",
		"/w read, write, delete, execute [workspace mount]",
		"/w/bin/tool read, write, delete, execute [approved_entry_executable]",
		"/w/rt read, write, delete, execute [runtime_root]",
	}
	if diff := cmp.Diff(want, rootList(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// places lists problems as "section[index].field variant".
func places(t *testing.T, d SandboxPolicy) []string {
	t.Helper()
	p, err := Compile(d)
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("Compile = %+v, %v; want Problems", p, err)
	}
	if diff := cmp.Diff(sandbox.EffectivePolicy{}, p); diff != "" {
		t.Errorf("a policy came with the problems:\n%s", diff)
	}
	var out []string
	for _, x := range problems {
		out = append(out, x.Where()+" "+x.Fault.Variant)
	}
	return out
}

// proves A-POL-01, A-POL-02, A-POL-03, A-POL-04, A-POL-06, A-POL-07, A-POL-09
func TestProblems(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*SandboxPolicy)
		want   []string
	}{
		{"profile", func(d *SandboxPolicy) { d.Profile = "Development" }, []string{"sandbox.profile policy_profile"}},
		{"nested narrower mount", func(d *SandboxPolicy) { d.Mounts = append(d.Mounts, mount("/w/sub", AccessReadWriteDelete)) }, []string{"sandbox.mounts[1].path policy_nested"}},
		{"nested mount in mount", func(d *SandboxPolicy) {
			d.Mounts = []Mount{mount("/a/b", AccessReadOnly), mount("/a", AccessReadWrite), mount("/a/bc", AccessReadWriteDelete)}
		}, []string{"sandbox.mounts[0].path policy_nested"}},
		{"prefix is no nesting", func(d *SandboxPolicy) {
			d.Mounts = []Mount{mount("/a/b", AccessReadWrite), mount("/a/bc", AccessReadOnly), mount("/w2", AccessReadOnly)}
			d.Network.Access = "else"
		}, []string{"sandbox.network.access policy_network_access"}},
		{"entry in a writable mount", func(d *SandboxPolicy) {
			d.Mounts = []Mount{mount("/opt", AccessReadWrite)}
		}, []string{"sandbox.execution.entries[0].path policy_nested", "sandbox.execution.entries[0].runtime_root policy_nested"}},
		{"mount in the system's root", func(d *SandboxPolicy) { d.Mounts = []Mount{mount("/usr/share", AccessReadOnly)} }, []string{"sandbox.mounts[0].path policy_nested"}},
		{"readonly profile", func(d *SandboxPolicy) {
			d.Profile = ProfileReadonly
			d.Mounts = []Mount{mount("/a", AccessReadOnly), mount("/b", AccessReadWrite), mount("/c", AccessReadWriteDelete)}
		}, []string{"sandbox.mounts[1].access policy_readonly_mount", "sandbox.mounts[2].access policy_readonly_mount"}},
		{"access", func(d *SandboxPolicy) { d.Mounts[0].Access = "execute" }, []string{"sandbox.mounts[0].access policy_access"}},
		{"network file system", func(d *SandboxPolicy) { d.Workspaces[0].Filesystem = "nfs" }, []string{"sandbox.workspaces[0] policy_filesystem"}},
		{"unknown file system", func(d *SandboxPolicy) { d.Entries[0].RuntimeRoot.Filesystem = "0x1234" }, []string{"sandbox.execution.entries[0].runtime_root policy_filesystem"}},
		{"unresolved path", func(d *SandboxPolicy) { d.Workspaces[0].Path = "/w/../x" }, []string{"sandbox.workspaces[0] policy_system_path"}},
		{"all of the system", func(d *SandboxPolicy) { d.Mounts[0] = mount("/", AccessReadOnly) }, []string{"sandbox.mounts[0].path policy_protected", "sandbox.mounts[0].path policy_system_path"}},
		{"devices", func(d *SandboxPolicy) { d.Mounts[0] = mount("/dev/shm", AccessReadOnly) }, []string{"sandbox.mounts[0].path policy_system_path"}},
		{"what the sandbox provides", func(d *SandboxPolicy) {
			d.Mounts = []Mount{mount("/tmp", AccessReadOnly), mount("/etc", AccessReadOnly), mount("/tmp/x", AccessReadOnly), mount("/etcx", AccessReadOnly)}
		}, []string{"sandbox.mounts[0].path policy_system_path", "sandbox.mounts[1].path policy_system_path"}},
		{"contains the configuration", func(d *SandboxPolicy) { d.Workspaces[0] = dir("/home/u/.config") }, []string{"sandbox.workspaces[0] policy_protected"}},
		{"beside the configuration", func(d *SandboxPolicy) {
			d.Workspaces[0] = dir("/home/u/.config/agent")
			d.Resources.MemoryMB = -1
		}, []string{"sandbox.resources.memory_mb policy_resource"}},
		{"inside the state root", func(d *SandboxPolicy) { d.Mounts[0] = mount("/home/u/.local/state/agent/x", AccessReadOnly) }, []string{"sandbox.mounts[0].path policy_protected"}},
		{"the state root by another path", func(d *SandboxPolicy) { d.Workspaces[0].ID = sandbox.FileID{Dev: 9, Ino: 9} }, []string{"sandbox.workspaces[0] policy_protected"}},
		{"aliases", func(d *SandboxPolicy) {
			d.Entries[0].RuntimeRoot = nil
			d.Entries = append(d.Entries, entry("GO", "/opt/other", ""), entry("", "/opt/third", ""), entry("a/b", "/opt/fourth", ""))
		}, []string{"sandbox.execution.entries[2].alias policy_alias_twice", "sandbox.execution.entries[3].alias policy_alias", "sandbox.execution.entries[4].alias policy_alias"}},
		{"interpreter of a refused file system", func(d *SandboxPolicy) {
			d.Entries[1].Interpreters = []Interpreter{{Interpreter: sandbox.Interpreter{Path: "/mnt/perl", Found: "/mnt/perl"}, Filesystem: "nfs"}}
		}, []string{"sandbox.execution.entries[1].path policy_filesystem"}},
		{"environment", func(d *SandboxPolicy) {
			d.Environment = map[string]string{"API_TOKEN": "x", "OK": "y"}
			d.Entries[1].Environment = map[string]string{"HOME": "/", "0": "", "PATH": "bin"}
		}, []string{"sandbox.environment.API_TOKEN policy_environment_credential", "sandbox.execution.entries[1].environment.0 policy_environment_name",
			"sandbox.execution.entries[1].environment.HOME policy_environment_reserved", "sandbox.execution.entries[1].environment.PATH policy_environment_path"}},
		{"network access", func(d *SandboxPolicy) { d.Network.Access = "LOCAL" }, []string{"sandbox.network.access policy_network_access"}},
		{"network mismatch", func(d *SandboxPolicy) { d.Network.Local = []int{80} }, []string{"sandbox.network.local_endpoints policy_network_mismatch"}},
		{"network mismatch, other mode", func(d *SandboxPolicy) {
			d.Network = sandbox.NetworkPolicy{Access: sandbox.NetworkRestricted, Local: []int{80}, Restricted: []sandbox.Endpoint{{Host: "a.example", Ports: []int{443}}}}
		}, []string{"sandbox.network.local_endpoints policy_network_mismatch"}},
		{"network without endpoints", func(d *SandboxPolicy) { d.Network.Access = sandbox.NetworkRestricted }, []string{"sandbox.network.restricted_endpoints policy_network_empty"}},
		{"ports and hosts", func(d *SandboxPolicy) {
			d.Network = sandbox.NetworkPolicy{Access: sandbox.NetworkRestricted, Restricted: []sandbox.Endpoint{{Host: "evil\x00.good.com", Ports: []int{0, 65535, 65536}}, {Host: "good.com"}}}
		}, []string{
			"sandbox.network.restricted_endpoints[0].host policy_host", "sandbox.network.restricted_endpoints[0].ports policy_port",
			"sandbox.network.restricted_endpoints[0].ports policy_port", "sandbox.network.restricted_endpoints[1].ports policy_network_empty"}},
		{"local port", func(d *SandboxPolicy) {
			d.Network = sandbox.NetworkPolicy{Access: sandbox.NetworkLocal, Local: []int{-1}}
		}, []string{"sandbox.network.local_endpoints[0] policy_port"}},
		{"resources", func(d *SandboxPolicy) {
			d.Resources = Resources{Profile: "huge", ProcessLimit: -2, TimeoutSeconds: 1 << 40, Cgroup: "relative"}
		}, []string{"sandbox.resources.profile policy_resource_profile", "sandbox.resources.process_limit policy_resource", "sandbox.resources.execution_timeout_seconds policy_resource", "sandbox.resources.cgroup policy_resource"}},
	} {
		d := base(ProfileDevelopment)
		c.change(&d)
		if diff := cmp.Diff(c.want, places(t, d)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// proves A-POL-07
func TestResourceProfiles(t *testing.T) {
	for _, c := range []struct {
		in   Resources
		want sandbox.ResourcePolicy
	}{
		{Resources{Profile: "constrained"}, sandbox.ResourcePolicy{Profile: "constrained", MemoryMB: 1024, ProcessLimit: 4, TimeoutSeconds: 300, Cgroup: "auto"}},
		{Resources{Profile: "normal"}, sandbox.ResourcePolicy{Profile: "normal", MemoryMB: 4096, ProcessLimit: 16, TimeoutSeconds: 1800, Cgroup: "auto"}},
		{Resources{Profile: "extended"}, sandbox.ResourcePolicy{Profile: "extended", MemoryMB: 8192, ProcessLimit: 32, TimeoutSeconds: 3600, Cgroup: "auto"}},
		{Resources{Profile: "normal", MemoryMB: 7, ProcessLimit: 1, TimeoutSeconds: 2, Cgroup: "/sys/fs/cgroup/mine"}, sandbox.ResourcePolicy{Profile: "normal", MemoryMB: 7, ProcessLimit: 1, TimeoutSeconds: 2, Cgroup: "/sys/fs/cgroup/mine"}},
	} {
		d := base(ProfileDevelopment)
		d.Resources = c.in
		if diff := cmp.Diff(c.want, compile(t, d).Resources); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
