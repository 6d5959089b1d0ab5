package lifecycle

import (
	"errors"
	"io"
	"log/slog"
	"os"

	"sekisho/internal/agent/config"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/rolling"
	"sekisho/internal/statedir"
	"sekisho/internal/strictjson"
	"sekisho/internal/visible"
)

// Names of the rolling logs (A-LOG-01); audit.jsonl is the fourth file.
const (
	applicationLog = "application.log"
	llmLog         = "llm.jsonl"
	httpLog        = "http.jsonl" // with the HTTP transport only
)

// logs are the open log files. The log directory may be shared with other servers.
type logs struct {
	dir   *os.File
	app   *rolling.Writer
	llm   *rolling.Writer
	http  *rolling.Writer // nil until openHTTP
	audit *audit.Writer
	// Logger writes to stderr and application.log, file to the latter alone: for what stderr is told in plain words.
	*slog.Logger
	file *slog.Logger
	// both writes whole lines to stderr and application.log, form makes the lines of a Logger.
	both io.Writer
	form func(io.Writer) *slog.Logger
}

// openLogs opens every log of c, making the directory user-only if it is missing. Errors are state.unusable.
func openLogs(fsys fileop.FS, c config.Logging, stderr io.Writer) (_ *logs, err error) {
	l := &logs{}
	if l.dir, err = statedir.OpenPrivate(fsys, c.Directory); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.Close()
			err = fault.New(fault.StateUnusable, fault.Variant("reason"), fault.Target(c.Directory), fault.Arg("reason", err), fault.Cause(err))
		}
	}()
	if l.app, err = rolling.Open(fsys, l.dir, applicationLog, c.MaxFileBytes, c.RetainedFiles); err != nil {
		return nil, err
	}
	if l.llm, err = rolling.Open(fsys, l.dir, llmLog, c.MaxFileBytes, c.RetainedFiles); err != nil {
		return nil, err
	}
	if l.audit, err = audit.Open(fsys, l.dir); err != nil {
		return nil, err
	}
	options := &slog.HandlerOptions{Level: level(c.Level)}
	l.both = io.MultiWriter(stderr, l.app)
	l.form = func(w io.Writer) *slog.Logger { return slog.New(tidy{slog.NewTextHandler(w, options)}) }
	file := tidy{slog.NewTextHandler(l.app, options)}
	l.file = slog.New(file)
	l.Logger = slog.New(slog.NewMultiHandler(tidy{slog.NewTextHandler(stderr, options)}, file))
	return l, nil
}

// named puts the instance into every line from now on.
func (l *logs) named(instance string) {
	l.Logger, l.file = l.With("instance", instance), l.file.With("instance", instance)
	form := l.form
	l.form = func(w io.Writer) *slog.Logger { return form(w).With("instance", instance) }
}

// openHTTP opens the request log.
func (l *logs) openHTTP(fsys fileop.FS, c config.Logging) (err error) {
	if l.http, err = rolling.Open(fsys, l.dir, httpLog, c.MaxFileBytes, c.RetainedFiles); err != nil {
		return fault.New(fault.StateUnusable, fault.Variant("reason"), fault.Target(c.Directory), fault.Arg("reason", err), fault.Cause(err))
	}
	return nil
}

// Close flushes and closes what is open.
func (l *logs) Close() error {
	var errs []error
	if l.audit != nil {
		errs = append(errs, l.audit.Close())
	}
	for _, w := range []*rolling.Writer{l.http, l.llm, l.app} {
		if w != nil {
			errs = append(errs, w.Close())
		}
	}
	return errors.Join(append(errs, l.dir.Close())...)
}

// LogCall implements ollama.Logger: one line per model call, in which what acts on a terminal is \u-escaped.
func (l *logs) LogCall(r ollama.CallRecord) error {
	line, err := strictjson.Marshal(r)
	if err != nil {
		return err
	}
	_, err = l.llm.Write(append(visible.JSON(line), '\n'))
	return err
}

func level(name string) slog.Level {
	switch name {
	case "debug":
		return slog.LevelDebug
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return slog.LevelInfo
}
