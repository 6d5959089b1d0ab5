//go:build linux

package probe

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	shipped "sekisho/config"
	"sekisho/internal/fault"
	"sekisho/internal/locale"
	"sekisho/internal/sandbox/linux/wire"
)

var update = flag.Bool("update", false, "rewrite docs/preflight.md")

// way is one way in which a machine can lack what the sandbox needs, and what preflight says there.
type way struct {
	what string
	err  error
}

func refused(what string, change func(*Facts)) way {
	f := good()
	change(&f)
	return way{what, Refuse(f)}
}

func failed(what string, stage wire.Stage, errno unix.Errno, target string, changes ...func(*Facts)) way {
	f := good()
	for _, c := range changes {
		c(&f)
	}
	return way{what, Explain(&wire.Failed{Stage: stage, Errno: int(errno), Target: target}, f)}
}

// ways lists all of them; what a control group can lack is in package cgroup (its table is TestChoose).
func ways() []way {
	apparmor := func(f *Facts) { f.AppArmorUserns = true }
	group := func(variant, command, setting string) error {
		return fault.New(fault.ResourceMemoryUnenforceable, fault.Variant(variant), fault.Target("auto"), fault.Arg("tried", "…"), fault.Arg("command", command),
			fault.Arg("setting", setting), fault.Arg("program", "agent-mcp"))
	}
	return []way{
		refused("WSL 1", func(f *Facts) { f.WSL1 = true }),
		refused("no /proc", func(f *Facts) { f.Proc = false }),
		failed("a /proc with masks on it, as in a container", wire.StageProc, unix.EPERM, "/proc"),
		failed("a /proc/sys that cannot be written", wire.StageSysctl, unix.EROFS, "/proc/sys/user/max_user_namespaces"),
		refused("no Landlock: not built in, not switched on, or refused by a container", func(f *Facts) { f.LandlockABI = 0 }),
		refused("a Landlock that is too old, so a kernel before 6.2", func(f *Facts) { f.LandlockABI = 2 }),
		refused("no user namespaces left, by the limit 0", func(f *Facts) { f.MaxUserNamespaces = 0 }),
		failed("no user namespaces left, because others use them", wire.StageClone, unix.ENOSPC, "agent-mcp"),
		refused("user namespaces switched off by a distribution", func(f *Facts) { f.UsernsOff = true }),
		failed("user namespaces refused by a container", wire.StageClone, unix.EPERM, "agent-mcp"),
		failed("user namespaces not built in", wire.StageClone, unix.EINVAL, "agent-mcp"),
		failed("user namespaces without their capabilities, by AppArmor", wire.StageMount, unix.EACCES, "/", apparmor),
		failed("user namespaces refused by AppArmor at once", wire.StageClone, unix.EACCES, "agent-mcp", apparmor),
		refused("no notification by system call filters", func(f *Facts) { f.Notify = false }),
		failed("system call filters refused, or a listener of somebody else around this one", wire.StageSeccomp, unix.EBUSY, ""),
		failed("a file system without id-mapped mounts, for root", wire.StageIDMap, unix.EINVAL, "/home/project"),
		failed("mounts refused, or their newer system calls unknown", wire.StageMount, unix.ENOSYS, "/"),
		failed("no change of the root", wire.StagePivot, unix.EINVAL, "/"),
		{"memory dumps that the kernel sends to a socket", RefuseCoreSocket()},
		refused("a kernel in which running programs can be overwritten", func(f *Facts) { f.TextBusy = false }),
		{"a Landlock that knows no ports, so a kernel before 6.7, for a sandbox with a network", func() error { f := good(); f.LandlockABI = 3; return RefuseNetwork(f) }()},
		failed("a network namespace that cannot be set up", wire.StageNetwork, unix.EROFS, "net/ipv4/ip_local_port_range"),
		failed("tracing of own children refused", wire.StageExec, unix.EPERM, "/usr/bin/true"),
		failed("the server's own file is gone or may not be executed", wire.StageClone, unix.EACCES, "/usr/local/bin/agent-mcp"),
		{"no control groups", group("mount", "sudo mount -t cgroup2 cgroup2 /sys/fs/cgroup", "auto")},
		{"control groups of version 1 that this user may not write", group("version1", "sudo sh -c 'mkdir -p …; chown …'", "/sys/fs/cgroup/memory/agent-mcp")},
		{"a configured control group of version 2 without controllers", group("group", "sudo sh -c 'echo +memory +pids > …; chown …'", "/sys/fs/cgroup/agent")},
		{"control groups of version 2, and neither a delegated one nor systemd", group("scope", "systemd-run --user --scope -p Delegate=yes", "auto")},
	}
}

// elsewhere are the variants of the code that other packages raise.
var elsewhere = []string{"peer_owner"}

// proves A-ERR-01, A-CLI-01
//
// Every way ends in one sentence that names the cause and one that names the remedy, in both languages, under a code that
// stays; and docs/preflight.md lists them.
func TestEveryMissingPrimitiveIsExplained(t *testing.T) {
	baseline, err := locale.Parse(shipped.English())
	if err != nil {
		t.Fatal(err)
	}
	languages := map[string]*locale.Catalogue{}
	for _, name := range []string{"en", "ja"} {
		c, _, err := locale.Load(shipped.Locales(), baseline, name)
		if err != nil {
			t.Fatal(err)
		}
		languages[name] = c
	}
	variants := func(c fault.Code) []string {
		info, _ := fault.Lookup(c)
		return slices.Clone(info.Variants)
	}
	left, groups := variants(fault.PreflightMissingPrimitive), variants(fault.ResourceMemoryUnenforceable)
	causes := map[string]string{}
	page := map[string]string{}
	for _, w := range ways() {
		e := fault.As(w.err)
		if e == nil {
			t.Errorf("%s: not refused: %v", w.what, w.err)
			continue
		}
		id := string(e.Code) + "." + e.Variant
		if e.Code == fault.ResourceMemoryUnenforceable {
			groups = slices.DeleteFunc(groups, func(v string) bool { return v == e.Variant })
		} else if e.Code == fault.PreflightMissingPrimitive && e.Variant != "" {
			left = slices.DeleteFunc(left, func(v string) bool { return v == e.Variant })
		} else {
			t.Errorf("%s: got %s", w.what, id)
		}
		for name, c := range languages {
			cause, remedy := c.Error(e)
			for kind, text := range map[string]string{"cause": cause, "remedy": remedy} {
				if text == "" || strings.ContainsAny(text, "{}\n") || len(sentences(text)) != 1 {
					t.Errorf("%s, %s: the %s is %q: %d sentences", w.what, name, kind, text, len(sentences(text)))
				}
			}
			if name == "ja" && !regexp.MustCompile(`[ぁ-ん]`).MatchString(cause+remedy) {
				t.Errorf("%s: not Japanese: %s %s", w.what, cause, remedy)
			}
			template := baseline[e.SentenceKey()]
			if other, known := causes[template]; known && other != id && e.Code == fault.PreflightMissingPrimitive {
				t.Errorf("%s and %s have the same sentence", id, other)
			}
			causes[template] = id
			page[name] += fmt.Sprintf("| %s | `%s` | %s | %s |\n", w.what, id, cell(cause), cell(remedy))
		}
	}
	left = slices.DeleteFunc(left, func(v string) bool { return slices.Contains(elsewhere, v) })
	if len(left)+len(groups) > 0 {
		t.Errorf("no way leads to %v %v", left, groups)
	}
	want := head + page["en"] + "\n## 日本語\n\n| 状況 (case) | code | 原因 | 対処 |\n| --- | --- | --- | --- |\n" + page["ja"]
	const doc = "../../../../docs/preflight.md"
	if *update {
		if err := os.WriteFile(doc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(doc); err != nil || string(got) != want {
		t.Errorf("docs/preflight.md is not up to date (%v): go test ./internal/sandbox/linux/probe -update", err)
	}
}

const head = `# What the machine must offer, and what the server says where it does not

The server builds a whole throw-away sandbox when it starts. Where that fails nothing is served: it ends with one of these codes, one
sentence that names the cause and one that names the remedy, in the configured language. Nothing is tried in a weaker way.

<!-- generated by go test ./internal/sandbox/linux/probe -update; do not edit -->

| case | code | cause | remedy |
| --- | --- | --- | --- |
`

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

// sentences splits where a sentence ends and another begins.
func sentences(text string) []string {
	var out []string
	for _, s := range regexp.MustCompile(`[.!?] +|[。！？]`).Split(text, -1) {
		if strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out
}
