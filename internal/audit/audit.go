package audit

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"sekisho/internal/fileop"
	"sekisho/internal/strictjson"
	"sekisho/internal/visible"
)

// FileName is the audit file's name in the log directory.
const FileName = "audit.jsonl"

// maxText bounds each text member, so that a line has a bounded size whatever a model or a file name contains.
const maxText = 8 << 10

// Writer appends events. It is safe for concurrent use.
type Writer struct {
	fsys fileop.FS

	mu   sync.Mutex
	f    *os.File
	torn bool // the last append may have ended inside a line
}

// Open opens or creates the audit file in dir. A file that others may read or write is refused.
func Open(fsys fileop.FS, dir *os.File) (*Writer, error) {
	f, err := fsys.OpenAppend(dir, FileName, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	w := &Writer{fsys: fsys, f: f}
	if err := w.inspect(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the audit log: %w", err), f.Close())
	}
	return w, nil
}

// inspect refuses a file that is not private and notices a line that a full disk or a lost power cut short.
func (w *Writer) inspect() error {
	st, err := w.f.Stat()
	if err != nil {
		return err
	}
	if err := private(st); err != nil {
		return fmt.Errorf("%s: %w", w.f.Name(), err)
	}
	if st.Size() == 0 {
		return nil
	}
	r, err := os.Open(w.f.Name())
	if err != nil {
		return err
	}
	defer r.Close()
	var last [1]byte
	if _, err := r.ReadAt(last[:], st.Size()-1); err != nil {
		return err
	}
	w.torn = last[0] != '\n'
	return nil
}

// Write appends one event as one line with one append; what acts on a terminal is \u-escaped in it. Texts that are not UTF-8 are escaped and over-long ones cut. An
// error means that the line may be missing.
func (w *Writer) Write(e Event) error {
	if e.Event == "" {
		return errors.New("audit event without a name")
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.UTC()
	if e.Event == ProcessStart {
		e.Arguments = Redacted
	}
	e.bound()
	line, err := strictjson.Marshal(e)
	if err != nil {
		return fmt.Errorf("encoding audit event %s: %w", e.Event, err)
	}
	line = visible.JSON(line)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.torn {
		line = slices.Insert(line, 0, '\n')
	}
	if err := w.fsys.Write(w.f, append(line, '\n')); err != nil {
		w.torn = true
		return fmt.Errorf("writing audit event %s: %w", e.Event, err)
	}
	w.torn = false
	return nil
}

// Close flushes and closes the file.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.fsys.Sync(w.f), w.f.Close())
}

// bound makes every text fit. Lists are copied: their elements belong to the caller.
func (e *Event) bound() {
	for _, s := range []*string{&e.Event, &e.SessionID, &e.TaskID, &e.PlannerTask, &e.CallID, &e.ErrorCode, &e.FinalState, &e.Tool,
		&e.Decision, &e.Source, &e.Exe, &e.Alias, &e.SHA256, &e.Hash, &e.Arguments, &e.Signal, &e.Limit, &e.Path, &e.Destination, &e.Operation,
		&e.BeforeSHA256, &e.AfterSHA256, &e.Kind, &e.Target, &e.Reason, &e.RuleID, &e.Instance} {
		*s = fit(*s)
	}
	e.ReadOnlyDirectories = slices.Clone(e.ReadOnlyDirectories)
	for i := range e.ReadOnlyDirectories {
		e.ReadOnlyDirectories[i] = fit(e.ReadOnlyDirectories[i])
	}
	e.Grants = slices.Clone(e.Grants)
	for i := range e.Grants {
		e.Grants[i].Path = fit(e.Grants[i].Path)
	}
	e.Undone = slices.Clone(e.Undone)
	for i := range e.Undone {
		e.Undone[i].Effect, e.Undone[i].Target = fit(e.Undone[i].Effect), fit(e.Undone[i].Target)
	}
}

func fit(s string) string {
	if len(s) <= maxText && utf8.ValidString(s) {
		return s
	}
	return visible.Line(s, maxText)
}
