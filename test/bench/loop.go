//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/agent/filetx"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/runtime"
	"sekisho/internal/agent/tool"
	"sekisho/internal/audit"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
	scriptmodel "sekisho/test/fakes/ollama"
)

// steps is how many files the model of the loop reads; each is one model call.
const steps = 20

// reading is the script of the loop: a plan, one read per step, an answer.
func reading() string {
	var s strings.Builder
	s.WriteString(`
model: scripted:latest
capabilities: [completion, tools]
context_length: 131072
rules:
  - name: plan
    when: {phase: plan}
    reply:
      content:
        tasks: [{id: t1, description: "Read the files", depends_on: [], budget_class: 4K, optimistic_tokens: 500, most_likely_tokens: 1000, pessimistic_tokens: 3000, requires_external_effect: false, required_tools: [file_read]}]
`)
	for i := range steps {
		fmt.Fprintf(&s, "  - {name: read %d, when: {phase: run}, once: true, reply: {tool_calls: [{name: file_read, arguments: {path: WORKSPACE/%d.txt, mode: whole}}]}}\n", i, i)
	}
	s.WriteString("  - {name: answer, when: {phase: run}, reply: {content: All files were read.}}\n")
	return s.String()
}

// looper is the product's loop with everything real but the model and the sandbox: no program is started, and what a
// sandbox costs has rows of its own.
type looper struct {
	b       *bench
	site    *site
	runtime *runtime.Runtime
	twin    *scriptmodel.Server // answers the bare client
	http    *http.Client
	closers []func() error
	serial  int
	bodies  [][]byte // of the product's last run
}

func (b *bench) loop() (err error) {
	l, err := b.newLooper()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	s, err := b.interleave(b.pairs(31), l.product, l.bare)
	if err != nil {
		return err
	}
	calls := time.Duration(len(l.bodies))
	for _, d := range [][]time.Duration{s.wallA, s.wallB, s.cpuA, s.cpuB} {
		for i := range d {
			d[i] /= calls
		}
	}
	b.columns()
	s.row(fmt.Sprintf("plan, %d reads, answer", steps), goal{bound: 1.1})
	note("", "(the model answers at once; cpu includes the scripted model's own, on both sides)")
	return nil
}

func (b *bench) newLooper() (_ *looper, err error) {
	l := &looper{b: b, http: &http.Client{Transport: &http.Transport{}}}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	if l.site, err = b.newSite(reading()); err != nil {
		return nil, err
	}
	l.onClose(l.site.close)
	for i := range steps {
		text := strings.Repeat(fmt.Sprintf("line of file %d\n", i), 20)
		if err := os.WriteFile(filepath.Join(l.site.workspace, fmt.Sprintf("%d.txt", i)), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	script, err := scriptmodel.Parse([]byte(strings.ReplaceAll(reading(), "WORKSPACE", l.site.workspace)))
	if err != nil {
		return nil, err
	}
	if l.twin, err = scriptmodel.Listen(script); err != nil {
		return nil, err
	}
	l.onClose(l.twin.Close)
	return l, l.assemble()
}

// assemble builds the rooms as the server does.
func (l *looper) assemble() error {
	loaded, resolved, err := l.site.resolved()
	if err != nil {
		return err
	}
	fsys := fileop.OS()
	dir, err := l.directory("logs")
	if err != nil {
		return err
	}
	auditor, err := audit.Open(fsys, dir)
	if err != nil {
		return err
	}
	l.onClose(auditor.Close)
	roots, err := rootio.NewSet(fsys, resolved.Policy.Roots, resolved.Policy.Links)
	if err != nil {
		return err
	}
	l.onClose(roots.Close)
	records, err := l.directory("recovery")
	if err != nil {
		return err
	}
	temp, err := l.directory("backup")
	if err != nil {
		return err
	}
	c := loaded.Config
	model, err := ollama.New(ollama.Config{Endpoint: c.Ollama.Endpoint, Model: c.Ollama.Model, Think: c.Ollama.Think, KeepAlive: c.Ollama.KeepAlive,
		Options: c.Ollama.Options, Extra: c.Ollama.Extra})
	if err != nil {
		return err
	}
	l.onClose(func() error { model.Close(); return nil })
	files := filetx.New(filetx.Deps{FS: fsys, Records: records, Temp: temp, Audit: auditor, MemoryLimit: 1 << 20})
	tools := tool.New(tool.Deps{Policy: &resolved.Policy, Roots: roots, Files: files, Audit: auditor, Texts: loaded.Locale})
	l.runtime = runtime.New(runtime.Deps{Model: model, Tools: tools, Opener: noSandbox{}, Audit: auditor, Texts: loaded.Locale, Policy: &resolved.Policy,
		Config: runtime.Config{MaxIterations: 128, SameFailureLimit: 5, MaxTasks: c.Planner.MaxTasks, SessionTTL: time.Hour}})
	l.onClose(func() error { return l.runtime.Stop(context.WithoutCancel(l.b.ctx)) })
	return nil
}

func (l *looper) directory(name string) (*os.File, error) {
	path := filepath.Join(l.site.dir, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.Open(path)
	if err == nil {
		l.onClose(dir.Close)
	}
	return dir, err
}

func (l *looper) onClose(f func() error) { l.closers = append(l.closers, f) }

func (l *looper) close() error {
	var errs []error
	for i := len(l.closers) - 1; i >= 0; i-- {
		errs = append(errs, l.closers[i]())
	}
	return errors.Join(errs...)
}

// product runs one task to its end. Each has a request of its own: the scripted model counts by conversation.
func (l *looper) product() error {
	before := len(l.site.model.Received())
	l.serial++
	a, err := l.runtime.Enqueue(runtime.Request{Text: fmt.Sprintf("Read the files, time %d.", l.serial), Owner: "bench"})
	if err != nil {
		return err
	}
	select {
	case <-l.runtime.Done(a.TaskID):
	case <-l.b.ctx.Done():
		return l.b.ctx.Err()
	}
	if st, err := l.runtime.Status(a.TaskID, ""); err != nil || st.Status != agent.Completed {
		return errors.Join(fmt.Errorf("the task ended %s (%s)", st.Status, st.LastErrorCode), err)
	}
	l.bodies = nil
	for _, r := range l.site.model.Received()[before:] {
		l.bodies = append(l.bodies, r.Body)
	}
	if len(l.bodies) != steps+2 {
		return fmt.Errorf("the model was asked %d times, want %d", len(l.bodies), steps+2)
	}
	return nil
}

// bare sends what the product just sent.
func (l *looper) bare() error {
	for _, body := range l.bodies {
		resp, err := l.http.Post(l.twin.URL()+"/api/chat", "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			return errors.Join(fmt.Errorf("status %d: %s", resp.StatusCode, data), err)
		}
	}
	return nil
}

// noSandbox gives a task a confinement that starts nothing.
type noSandbox struct{}

func (noSandbox) Open(context.Context, string, string) (sandbox.TaskJob, error) { return noJob{}, nil }

func (noSandbox) Claim(context.Context, string, func(string)) (sandbox.Claim, error) {
	return noClaim{}, nil
}

type noClaim struct{}

func (noClaim) Guards() []sandbox.Guard { return nil }
func (noClaim) Release() error          { return nil }

type noJob struct{}

func (noJob) Start(context.Context, sandbox.Command) (sandbox.Process, error) {
	return nil, errors.New("no program is started here")
}
func (noJob) Lost() <-chan struct{}       { return nil }
func (noJob) Close(context.Context) error { return nil }

func (noJob) Guards() []sandbox.Guard            { return nil }
func (noJob) Quarantined() []sandbox.Quarantined { return nil }
func (noJob) FromSpare() bool                    { return false }
