package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"sekisho/internal/agent/config"
	"sekisho/internal/agent/config/reserved"
	"sekisho/internal/agent/filetx"
	"sekisho/internal/agent/mcpserver"
	"sekisho/internal/agent/mcpserver/tasks"
	"sekisho/internal/agent/mcpserver/taskstore"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/runtime"
	"sekisho/internal/agent/tool"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/broker"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/rootio"
	"sekisho/internal/statedir"
)

// stopTimeout bounds the graceful stop. What is not clean by then stays in the journals for the next start's recovery.
const stopTimeout = 30 * time.Second

// assembly is the running server without its transport.
type assembly struct {
	log      *slog.Logger
	instance *statedir.Instance
	server   *mcpserver.Server
	runtime  *runtime.Runtime
	broker   *broker.Broker
	tasks    *tasks.Extension
	files    *filetx.Manager
	records  *os.File // recovery/ of the instance
	// closers are called in reverse order.
	closers []func() error
}

// assemble builds every room over the applied policy. Nothing of it acts before a request comes.
func (s *session) assemble(dir *statedir.Dir, instance *statedir.Instance, p sandbox.EffectivePolicy, backend sandbox.Backend, logs *logs, recovery recovery) (_ *assembly, err error) {
	c := s.loaded.Config
	a := &assembly{log: logs.Logger, instance: instance}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	if a.records, err = a.sub(instance, broker.JournalDir); err != nil {
		return nil, err
	}
	backups, err := a.sub(instance, backupDir)
	if err != nil {
		return nil, err
	}
	roots, err := rootio.NewSet(s.Files, p.Roots, p.Links)
	if err != nil {
		return nil, err
	}
	a.closers = append(a.closers, roots.Close)
	model, err := ollama.New(modelConfig(c.Ollama, logs))
	if err != nil {
		return nil, err
	}
	a.closers = append(a.closers, func() error { model.Close(); return nil })
	a.files = filetx.New(filetx.Deps{FS: s.Files, Records: a.records, Temp: backups, Audit: logs.audit,
		MemoryLimit: int64(c.FileEdit.MemoryBackupLimitMB) << 20})
	tools := tool.New(tool.Deps{Policy: &p, Roots: roots, Files: a.files, Audit: logs.audit, Texts: s.loaded.Locale, Limits: tool.Limits{
		WholeReadBytes: c.Limits.WholeReadBytes, SearchMaxResults: c.Limits.SearchMaxResults, TailMaxLines: c.Limits.TailMaxLines}})
	var homes *statedir.Homes
	if _, identity := p.HomeIdentity(); identity != "" {
		if homes, err = statedir.OpenHomes(s.Files, s.places.CacheRoot); err != nil {
			return nil, err
		}
		a.closers = append(a.closers, homes.Close)
	}
	a.broker = broker.New(broker.Deps{Backend: backend, Journal: journal.Open(s.Files, a.records), Instance: instance, Homes: homes, Policy: p, State: dir, Files: s.Files, Recover: recovery.later(dir), Spares: true, Log: logs.file,
		Network: &broker.Network{Resolver: broker.SystemResolver(), Machine: s.loaded.Machine, Doors: func() ([]policy.Server, error) { return reserved.Doors(s.places.StateRoot) }, Audit: logs.audit}})
	a.runtime = runtime.New(runtime.Deps{Model: model, Tools: tools, Opener: a.broker, Audit: logs.audit, Texts: s.loaded.Locale, Policy: &p,
		Config: runtimeConfig(c), Log: logs.Logger})
	records := taskstore.Open(taskstore.Options{Files: s.Files, Root: dir, Instance: instance,
		TTL: time.Duration(c.MCP.TaskTTLHours) * time.Hour, Poll: time.Duration(c.MCP.TaskPollMillis) * time.Millisecond})
	a.closers = append(a.closers, records.Close)
	a.tasks = tasks.New(records, logs.Logger)
	a.server = mcpserver.New(mcpserver.Deps{Runtime: a.runtime, Tasks: a.tasks, Texts: s.loaded.Locale, Log: logs.Logger, Version: s.Version,
		Images: mcpserver.ImageLimits{MaxCount: c.MCP.ImagesMaxCount, MaxBytesEach: int(c.MCP.ImagesMaxBytesEach), MaxTotalBytes: int(c.MCP.ImagesMaxBytesTotal)}})
	return a, nil
}

func (a *assembly) sub(instance *statedir.Instance, name string) (*os.File, error) {
	dir, err := instance.Sub(name)
	if err == nil {
		a.closers = append(a.closers, dir.Close)
	}
	return dir, err
}

// stop is the graceful stop of A-STOP-01 up to the transport: no new runs, unfinished tasks cancelled with their trees
// dead and their resources reverted, the spare sandbox ended, an open file transaction rolled back, the journals proven gone.
func (a *assembly) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return errors.Join(a.runtime.Stop(ctx), a.tasks.Wait(ctx), a.broker.Close(ctx), a.files.Rollback(ctx), checkClean(a.records))
}

func (a *assembly) close() error {
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i]())
	}
	return errors.Join(errs...)
}

func modelConfig(c config.Ollama, log ollama.Logger) ollama.Config {
	return ollama.Config{Endpoint: c.Endpoint, Model: c.Model, Think: c.Think, KeepAlive: c.KeepAlive, Options: c.Options, Extra: c.Extra,
		HeaderName: c.HeaderName, HeaderValueFile: c.HeaderValueFile, Log: log}
}

func runtimeConfig(c config.Config) runtime.Config {
	rc := runtime.Config{
		UserPrompt:       c.Agent.UserSystemPromptText,
		MaxIterations:    c.Agent.MaxIterations,
		SameFailureLimit: c.Agent.SameFailureLimit,
		TaskTimeout:      time.Duration(c.Agent.TaskTimeoutSeconds) * time.Second,
		MaxTasks:         c.Planner.MaxTasks,
		SessionTTL:       time.Duration(c.MCP.TaskTTLHours) * time.Hour,
	}
	if n := c.Ollama.Options.NumCtx; n != nil {
		rc.NumCtx = *n
	}
	if n := c.Ollama.Options.NumPredict; n != nil {
		rc.NumPredict = *n
	}
	return rc
}
