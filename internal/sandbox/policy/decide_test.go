package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

func verdict(d Decision) string {
	if d.Allow {
		s := "allow"
		if d.Class != "" {
			s += " " + string(d.Class)
		}
		if d.Entry != nil {
			s += " " + d.Entry.Path
		}
		return s
	}
	return string(d.Code) + " " + d.Reason
}

// proves A-POL-02, A-POL-01, A-PRI-02
func TestDecideFilesystem(t *testing.T) {
	d := base(ProfileDevelopment)
	d.Mounts = append(d.Mounts, mount("/m2", AccessReadWrite), mount("/m2/in", AccessReadWriteDelete))
	p := compile(t, d)
	for _, c := range []struct {
		path string
		want sandbox.Rights
		got  string
	}{
		{"/w", rwdx, "allow"},
		{"/w/a/b", rwd, "allow"},
		{"/w-evil/a", r, "policy.denied not_allowlisted"},
		{"/wa", r, "policy.denied not_allowlisted"},
		{"/", r, "policy.denied not_allowlisted"},
		{"/etc/shadow", r, "policy.denied not_allowlisted"},
		{"/m/f", r, "allow"},
		{"/m/f", rw, "policy.denied missing_right"},
		{"/m/f", sandbox.Delete, "policy.denied missing_right"},
		{"/m/f", sandbox.Execute, "policy.denied missing_right"},
		{"/m2/f", rw, "allow"},
		{"/m2/f", rwd, "policy.denied missing_right"},
		{"/m2/in/f", rwd, "allow"},
		{"/m2/in/f", rx, "policy.denied missing_right"},
		{"/opt/go/src/f", r, "allow"},
		{"/opt/go/src/f", rw, "policy.denied missing_right"},
		{"/usr/bin/dash", rx, "allow"},
		{"/usr/bin/dash/x", rw, "policy.denied missing_right"}, // in /usr, not in the file
		{"/opt/go/bin/go", rx, "allow"},
		{"/w/../etc", r, "policy.denied not_allowlisted"},
		{"w/f", r, "policy.denied not_allowlisted"},
		{"/w/", r, "policy.denied not_allowlisted"},
		{"/w/a\x00", r, "policy.denied not_allowlisted"},
		{"/w/f", 0, "policy.denied not_allowlisted"},
	} {
		got := Decide(p, Request{Kind: Filesystem, Path: c.path, Want: c.want})
		if v := verdict(got); v != c.got {
			t.Errorf("%q %v: %s, want %s", c.path, c.want, v, c.got)
		}
	}
	got := Decide(p, Request{Kind: Filesystem, Path: "/m2/f", Want: rwd})
	if got.Root == nil || got.Root.Path != "/m2" || got.Required != sandbox.Delete {
		t.Errorf("denial names root %v and lacks %v", got.Root, got.Required)
	}
	if got := Decide(p, Request{Kind: "network", Path: "/w"}); got.Allow {
		t.Error("a kind that is not decided here was allowed")
	}
	if got := Decide(&sandbox.EffectivePolicy{}, Request{Kind: Filesystem, Path: "/w", Want: r}); got.Allow {
		t.Error("the empty policy allows something")
	}
}

// proves A-POL-05, A-POL-04, A-TOOL-04
func TestDecideProcess(t *testing.T) {
	d := base(ProfileDevelopment)
	d.Entries = append(d.Entries, entry("tool", "/w/bin/tool", ""), entry("plain", "/usr/bin/plain", ""))
	dev := compile(t, d)
	ro := compile(t, base(ProfileReadonly))
	for _, c := range []struct {
		p    *sandbox.EffectivePolicy
		req  Request
		want string
	}{
		{dev, Request{Alias: "go"}, "allow approved_entry /opt/go/bin/go"},
		{dev, Request{Alias: "GO"}, "allow approved_entry /opt/go/bin/go"},
		{dev, Request{Alias: "sh"}, "allow approved_shell /usr/bin/dash"},
		{dev, Request{Alias: "bash"}, "executable.approval_missing not_allowlisted"},
		{dev, Request{Path: "/opt/go/bin/go"}, "policy.denied alias_required"},
		{dev, Request{Path: "/w/bin/tool"}, "policy.denied alias_required"},
		{dev, Request{Path: "/usr/bin/plain"}, "policy.denied alias_required"},
		{dev, Request{Path: "/opt/go/pkg/tool/compile"}, "allow runtime_component"},
		{dev, Request{Path: "/opt/go/bin/bash"}, "executable.shell_unsupported shell"},
		{dev, Request{Path: "/w/sub/sh"}, "executable.shell_unsupported shell"},
		{dev, Request{Path: "/w/sub/busybox"}, "executable.shell_unsupported shell"},
		{dev, Request{Path: "/w/sub/shell"}, "allow workspace_artifact"},
		{dev, Request{Path: "/usr/bin/env"}, "executable.approval_missing not_allowlisted"},
		{dev, Request{Path: "/m/prog"}, "executable.approval_missing not_allowlisted"},
		{dev, Request{Path: "/opt/go2/prog"}, "executable.approval_missing not_allowlisted"},
		{dev, Request{Path: ""}, "executable.approval_missing not_allowlisted"},
		{ro, Request{Path: "/w/prog"}, "executable.approval_missing not_allowlisted"},
		{ro, Request{Path: "/opt/go/pkg/tool/compile"}, "allow runtime_component"},
	} {
		c.req.Kind = Process
		if got := verdict(Decide(c.p, c.req)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.req, got, c.want)
		}
	}
}

// Compile makes no such policies; Decide does not rely on it.
//
// proves A-POL-05
func TestDecideProcessAsksForTheRightAsWell(t *testing.T) {
	p := &sandbox.EffectivePolicy{Profile: ProfileDevelopment, Roots: []sandbox.Root{
		{Path: "/w", Rights: rwdx, Origins: []sandbox.Origin{sandbox.OriginWorkspace}},
		{Path: "/w/data", Rights: rw, Origins: []sandbox.Origin{sandbox.OriginMount}},
	}}
	if got := Decide(p, Request{Kind: Process, Path: "/w/data/prog"}); got.Allow {
		t.Error("a program below a root without execute may start")
	}
	p.Profile = ProfileReadonly
	if got := Decide(p, Request{Kind: Process, Path: "/w/prog"}); got.Allow {
		t.Error("a Workspace Artifact may start under profile readonly")
	}
}

// proves A-POL-04
func TestShellsByName(t *testing.T) {
	for name, want := range map[string]bool{
		"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "fish": true, "busybox": true, "pwsh": true,
		"Bash": false, "bash2": false, "rbash": false, "python3": false, "": false,
	} {
		if IsShell(name) != want {
			t.Errorf("IsShell(%q) = %v", name, !want)
		}
	}
}

// proves A-ERR-01
func TestDenialsAreFaults(t *testing.T) {
	p := compile(t, base(ProfileDevelopment))
	for _, c := range []struct {
		req  Request
		want string
	}{
		{Request{Kind: Filesystem, Path: "/etc", Want: r}, "policy.denied.outside_roots: x"},
		{Request{Kind: Filesystem, Path: "/m", Want: rw}, "policy.denied.missing_right: x"},
		{Request{Kind: Process, Path: "/opt/go/bin/go"}, "policy.denied.alias_required: x"},
		{Request{Kind: Process, Alias: "no"}, "executable.approval_missing: x"},
		{Request{Kind: Process, Path: "/w/sh"}, "executable.shell_unsupported: x"},
	} {
		f := Decide(p, c.req).Fault("x")
		if f.Error() != c.want {
			t.Errorf("%+v: %q, want %q", c.req, f.Error(), c.want)
		}
	}
	if f := Decide(p, Request{Kind: Filesystem, Path: "/w", Want: r}).Fault("x"); f != (*fault.Error)(nil) {
		t.Errorf("an allowed request has the fault %v", f)
	}
}

func anyPath(t *rapid.T, label string) string {
	return "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "a-b"}), 0, 4).Draw(t, label), "/")
}

func anyPolicy(t *rapid.T) *sandbox.EffectivePolicy {
	d := SandboxPolicy{
		Profile:   rapid.SampledFrom([]string{ProfileReadonly, ProfileDevelopment}).Draw(t, "profile"),
		Network:   sandbox.NetworkPolicy{Access: sandbox.NetworkNone},
		Resources: Resources{Profile: "normal"},
	}
	for range rapid.IntRange(0, 2).Draw(t, "workspaces") {
		d.Workspaces = append(d.Workspaces, dir(anyPath(t, "workspace")))
	}
	for range rapid.IntRange(0, 3).Draw(t, "mounts") {
		d.Mounts = append(d.Mounts, mount(anyPath(t, "mount"), rapid.SampledFrom([]string{AccessReadOnly, AccessReadWrite, AccessReadWriteDelete}).Draw(t, "access")))
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "entries") {
		d.Entries = append(d.Entries, entry(fmt.Sprint("e", i), anyPath(t, "entry"), rapid.SampledFrom([]string{"", anyPath(t, "runtime")}).Draw(t, "has runtime")))
	}
	p, err := Compile(d)
	if err != nil {
		return nil
	}
	return &p
}

// Three laws: what no root contains is never allowed; asking for less never turns an allowed request into a denied one;
// and a deeper path never has fewer rights than the directories around it, so nesting can take nothing away.
//
// proves A-POL-02, A-POL-03
func TestDecideLaws(t *testing.T) {
	compiled := 0
	rapid.Check(t, func(rt *rapid.T) {
		p := anyPolicy(rt)
		if p == nil {
			return
		}
		compiled++
		name := anyPath(rt, "path")
		want := sandbox.Rights(rapid.IntRange(1, 15).Draw(rt, "want"))
		less := want & sandbox.Rights(rapid.IntRange(1, 15).Draw(rt, "less"))
		ask := func(name string, w sandbox.Rights) bool {
			return Decide(p, Request{Kind: Filesystem, Path: name, Want: w}).Allow
		}
		contained := false
		for _, root := range p.Roots {
			contained = contained || root.Path == name || !root.File && (root.Path == "/" || strings.HasPrefix(name+"/", root.Path+"/"))
		}
		allowed := ask(name, want)
		if allowed && !contained {
			rt.Fatalf("%s is allowed outside the roots %v", name, rootList(p))
		}
		if allowed && less != 0 && !ask(name, less) {
			rt.Fatalf("%s: %v is allowed and %v is not", name, want, less)
		}
		file := slices.ContainsFunc(p.Roots, func(r sandbox.Root) bool { return r.File && r.Path == path.Dir(name) })
		if name != "/" && !file && ask(path.Dir(name), want) && !allowed {
			rt.Fatalf("%s: %v is allowed on the directory and not on it; roots %v", name, want, rootList(p))
		}
		if d := Decide(p, Request{Kind: Process, Path: name}); d.Allow && !ask(name, sandbox.Execute) {
			rt.Fatalf("%s may start without the right to execute", name)
		}
	})
	if compiled == 0 {
		t.Error("no random policy compiled")
	}
}

// proves A-POL-02
func TestWithinLaws(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := anyPath(rt, "a"), anyPath(rt, "b")
		ea, eb := strings.Split(strings.Trim(a, "/"), "/"), strings.Split(strings.Trim(b, "/"), "/")
		want := a == "/" || len(ea) <= len(eb) && cmp.Equal(ea, eb[:len(ea)])
		if Within(a, b) != want {
			rt.Fatalf("Within(%q, %q) = %v", a, b, !want)
		}
	})
}

// proves A-POL-08
func TestMatrixListsEveryGrant(t *testing.T) {
	d := base(ProfileDevelopment)
	d.Mounts = append(d.Mounts, mount("/w", AccessReadOnly))
	p := compile(t, d)
	p.Network = sandbox.NetworkPolicy{Access: sandbox.NetworkRestricted, Restricted: []sandbox.Endpoint{{Host: "a.example", Ports: []int{80, 443}}}}
	p.Environment = map[string]string{"B": "2", "A": "1"}
	rows := Matrix(p)
	want := []Row{
		{Group: GroupRoot, Subject: "/m", Rights: r, Value: "directory", Origins: []string{"mount"}},
		{Group: GroupRoot, Subject: "/opt/go", Rights: rx, Value: "directory", Origins: []string{"runtime_root"}},
		{Group: GroupRoot, Subject: "/opt/go/bin/go", Rights: rx, Value: "file", Origins: []string{"approved_entry_executable"}},
		{Group: GroupRoot, Subject: "/usr", Rights: rx, Value: "directory", Origins: []string{"os_runtime_root"}},
		{Group: GroupRoot, Subject: "/usr/bin/dash", Rights: rx, Value: "file", Origins: []string{"approved_shell_executable"}},
		{Group: GroupRoot, Subject: "/w", Rights: rwdx, Value: "directory", Origins: []string{"workspace", "mount"}},
		{Group: GroupEntry, Subject: "go", Rights: rx, Value: "/opt/go/bin/go", Origins: []string{"approved_entry"}},
		{Group: GroupEntry, Subject: "sh", Rights: rx, Value: "/usr/bin/dash", Origins: []string{"approved_shell"}},
		{Group: GroupNetwork, Subject: "access", Value: "restricted"},
		{Group: GroupNetwork, Subject: "a.example", Value: "80 443"},
		{Group: GroupResource, Subject: "profile", Value: "normal"},
		{Group: GroupResource, Subject: "memory_mb", Value: "4096"},
		{Group: GroupResource, Subject: "process_limit", Value: "16"},
		{Group: GroupResource, Subject: "execution_timeout_seconds", Value: "1800"},
		{Group: GroupResource, Subject: "cgroup", Value: "auto"},
	}
	if diff := cmp.Diff(want, rows[:len(want)]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rest := rows[len(want):]
	if len(rest) != len(p.Baseline)+2 || rest[len(rest)-2].Subject != "A" || rest[len(rest)-1].Value != "2" {
		t.Errorf("rest of the matrix: %+v", rest)
	}
}
