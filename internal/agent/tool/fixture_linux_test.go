package tool

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sekisho/internal/agent"
	"sekisho/internal/agent/filetx"
	"sekisho/internal/audit"
	"sekisho/internal/fileop"
	"sekisho/internal/locale"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/resolve"
	"sekisho/internal/sandbox/rootio"
)

// secret is the content of every file outside the roots: it must never appear in a result.
const secret = "TOP-SECRET-7f3a9c"

// world is a real directory tree around a dispatcher: ws is a development workspace, ro a read-only mount, rt a runtime root,
// out lies beside them, outside every root. app-evil is a sibling whose name starts like the workspace's.
type world struct {
	t               *testing.T
	base            string
	ws, ro, rt, out string
	policy          sandbox.EffectivePolicy
	audit           *recorder
	deps            Deps
	d               *Dispatcher
	scope           Scope
	job             *fakeJob
	graph           *fakeGraph
}

func newWorld(t *testing.T) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, base: base, ws: base + "/app", ro: base + "/ro", rt: base + "/rt", out: base + "/out", audit: &recorder{}}
	for _, dir := range []string{w.ws, w.ro, w.rt, w.out, base + "/app-evil", base + "/records", base + "/temp"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.write("out/s", secret)
	w.write("app-evil/s", secret)
	w.write("out/prog", secret)
	w.write("tools-go", "an approved program")
	w.mode("tools-go")
	w.policy = sandbox.EffectivePolicy{
		Profile: policy.ProfileDevelopment,
		Roots: []sandbox.Root{
			w.root(w.ws, sandbox.OriginWorkspace, sandbox.Read|sandbox.Write|sandbox.Delete|sandbox.Execute),
			w.root(w.ro, sandbox.OriginMount, sandbox.Read),
			w.root(w.rt, sandbox.OriginRuntimeRoot, sandbox.Read|sandbox.Execute),
		},
		Resources: sandbox.ResourcePolicy{TimeoutSeconds: 120},
	}
	exe, err := resolve.Executable(base + "/tools-go")
	if err != nil {
		t.Fatal(err)
	}
	w.policy.Entries = []sandbox.Entry{{Alias: "Go", Class: sandbox.ClassEntry, Path: exe.Path, SHA256: exe.SHA256}}
	w.policy.Roots = append(w.policy.Roots, sandbox.Root{Path: exe.Path, File: true, ID: exe.ID, Rights: sandbox.Read | sandbox.Execute, Origins: []sandbox.Origin{sandbox.OriginApprovedEntry}})
	w.deps = Deps{Policy: &w.policy, Audit: w.audit, Texts: catalogueOf(t, "en")}
	w.job = &fakeJob{}
	w.graph = &fakeGraph{said: "added task t9"}
	w.scope = Scope{
		Session: "s1", Task: "a1", PlannerTask: "p1", Required: toolNames, Graph: w.graph,
		Job: func(context.Context) (sandbox.Job, error) { w.job.opened++; return w.job, w.job.openErr },
	}
	return w
}

func (w *world) root(path string, origin sandbox.Origin, rights sandbox.Rights) sandbox.Root {
	r, err := resolve.Root(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return sandbox.Root{Path: r.Path, ID: r.ID, Rights: rights, Origins: []sandbox.Origin{origin}}
}

// open builds the dispatcher; before it a test may change policy and deps.
func (w *world) open() *world {
	w.t.Helper()
	set, err := rootio.NewSet(fileop.OS(), w.policy.Roots, w.policy.Links)
	if err != nil {
		w.t.Fatal(err)
	}
	records, err := os.Open(w.base + "/records")
	if err != nil {
		w.t.Fatal(err)
	}
	temp, err := os.Open(w.base + "/temp")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { set.Close(); records.Close(); temp.Close() })
	w.deps.Roots = set
	w.deps.Files = filetx.New(filetx.Deps{FS: fileop.OS(), Records: records, Temp: temp, Audit: w.audit, MemoryLimit: 1 << 20})
	w.d = New(w.deps)
	return w
}

// write makes a file below the base, with its directories.
func (w *world) write(rel, content string) string {
	w.t.Helper()
	path := w.base + "/" + rel
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) link(target, rel string) string {
	w.t.Helper()
	if err := os.Symlink(target, w.base+"/"+rel); err != nil {
		w.t.Fatal(err)
	}
	return w.base + "/" + rel
}

func (w *world) fifo(rel string) string {
	w.t.Helper()
	if err := syscall.Mkfifo(w.base+"/"+rel, 0o666); err != nil {
		w.t.Fatal(err)
	}
	return w.base + "/" + rel
}

func (w *world) read(rel string) string {
	w.t.Helper()
	b, err := os.ReadFile(w.base + "/" + rel)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// tree is every path below the base with its kind and content.
func (w *world) tree() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(w.base, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		all[path] = e.Type().String()
		if e.Type().IsRegular() {
			b, err := os.ReadFile(path)
			all[path] += string(b)
			return err
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

type arg map[string]any

func (w *world) call(name string, args arg) agent.ToolResult {
	w.t.Helper()
	return w.callWith(w.t.Context(), name, args)
}

func (w *world) callWith(ctx context.Context, name string, args arg) agent.ToolResult {
	w.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.d.Call(ctx, w.scope, call(name, string(raw)))
}

// with is args plus more members.
func (a arg) with(more arg) arg {
	out := maps.Clone(a)
	maps.Copy(out, more)
	return out
}

// split divides a result's content into its decoded header and its body.
func split(t *testing.T, r agent.ToolResult) (map[string]any, string) {
	t.Helper()
	line, body, _ := strings.Cut(r.Content, "\n")
	var h map[string]any
	if err := json.Unmarshal([]byte(line), &h); err != nil {
		t.Fatalf("first line is no JSON header: %q", line)
	}
	if h["ok"] != r.OK {
		t.Fatalf("header says ok=%v, result %v", h["ok"], r.OK)
	}
	return h, body
}

// recorder is an audit that remembers, and fails at the event of number failAt (counted from 1).
type recorder struct {
	mu     sync.Mutex
	events []audit.Event
	failAt int
}

func (r *recorder) Write(e audit.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failAt > 0 && len(r.events)+1 >= r.failAt {
		return errors.New("disk full")
	}
	r.events = append(r.events, e)
	return nil
}

// names lists the events as "name decision-or-reason".
func (r *recorder) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.events {
		out = append(out, strings.TrimSpace(e.Event+" "+e.Decision+e.Reason))
	}
	return out
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, _ := json.Marshal(r.events)
	return string(b)
}

func (r *recorder) reset() { r.mu.Lock(); r.events = nil; r.mu.Unlock() }

func catalogueOf(t *testing.T, lang string) *locale.Catalogue {
	t.Helper()
	load := func(name string) locale.Texts {
		b, err := os.ReadFile("../../../config/locales/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := locale.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	return locale.New(lang, load(lang), load("en"))
}

type fakeGraph struct {
	updates []GraphUpdate
	said    string
	err     error
}

func (g *fakeGraph) Edit(_ context.Context, u GraphUpdate) (string, error) {
	g.updates = append(g.updates, u)
	return g.said, g.err
}

// fakeJob records what would have been started, writes the given output and ends as told.
type fakeJob struct {
	opened         int
	openErr        error
	started        []sandbox.Command
	startErr       error
	proof          sandbox.Proof
	stdout, stderr string
	exit           sandbox.Exit
	waitErr        error
	onStart        func()
}

func (j *fakeJob) Start(_ context.Context, c sandbox.Command) (sandbox.Process, error) {
	if j.onStart != nil {
		j.onStart()
	}
	if j.startErr != nil {
		return nil, j.startErr
	}
	if err := c.Admit(j.proof); err != nil {
		return nil, err
	}
	j.started = append(j.started, c)
	c.Stdout.Write([]byte(j.stdout))
	c.Stderr.Write([]byte(j.stderr))
	return j, nil
}

func (j *fakeJob) Wait(context.Context) (sandbox.Exit, error) { return j.exit, j.waitErr }
func (j *fakeJob) Lost() <-chan struct{}                      { return nil }
func (j *fakeJob) Close(context.Context) error                { return nil }
