//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/agent/config"
	"sekisho/internal/agent/mcpserver"
	"sekisho/internal/agent/mcpserver/httpd"
	"sekisho/internal/agent/mcpserver/sockowner"
	"sekisho/internal/agent/mcpserver/tasks"
	"sekisho/internal/agent/mcpserver/taskstore"
	"sekisho/internal/agent/runtime"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/statedir"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "conformance server:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := os.MkdirTemp("", "sekisho-conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	dir, err := statedir.Open(fileop.OS(), filepath.Join(root, "agent-mcp"))
	if err != nil {
		return err
	}
	defer dir.Close()
	instance, err := dir.NewInstance(ctx)
	if err != nil {
		return err
	}
	defer instance.Close()
	store := taskstore.Open(taskstore.Options{Files: fileop.OS(), Root: dir, Instance: instance, TTL: time.Hour, Poll: 100 * time.Millisecond})
	defer store.Close()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	extension := tasks.New(store, log)
	s := mcpserver.New(mcpserver.Deps{Runtime: nobody{}, Texts: config.CompiledIn("en"), Log: log, Version: "conformance", Tasks: extension})
	fixture := newFixture(ctx)
	fixture.add(s.SDK())
	door, err := httpd.Listen(httpd.Config{Addr: netip.MustParseAddrPort("127.0.0.1:0"), Answer: s, Owner: sockowner.PeerUID, Self: os.Geteuid(),
		Record: func(httpd.Record) {}, Log: log})
	if err != nil {
		return err
	}
	defer door.Close()
	fmt.Println(door.URL())
	served := make(chan error, 1)
	go func() { served <- door.Serve() }()
	select {
	case err = <-served:
	case <-ctx.Done():
		err = errors.Join(door.Shutdown(context.Background()), <-served)
	}
	stop()
	return errors.Join(err, extension.Wait(context.Background()))
}

// nobody is a runtime that accepts nothing: no scenario calls the product's tools.
type nobody struct{}

func (nobody) Enqueue(runtime.Request) (runtime.Accepted, error) {
	return runtime.Accepted{}, fault.New(fault.ServerStopping)
}
func (nobody) Cancel(context.Context, string) error { return nil }
func (nobody) Interrupt(string) error               { return nil }
func (nobody) Done(string) <-chan struct{}          { return nil }
func (nobody) Status(task, _ string) (agent.TaskStatus, error) {
	return agent.TaskStatus{}, fault.New(fault.TaskNotFound, fault.Target(task))
}
