// Package instance is a running relaycodex as other programs of the same user see it (R-CLI-01): a locked directory below
// the state root with its page port and a control socket that gives out fresh page addresses, and the log.
//
//	<state root>/                     0700
//	  instances/<id>/                 locked as long as it runs
//	    page.json                     {"version":1,"port":N}; agent-mcp keeps its payloads away from that port
//	    control.sock                  answers "url"
//	    open.html                     leads the person's browser to the page, until its key was used or expired
//	  logs/relaycodex.log             one rolling log of all instances (R-LOG-01)
//
// Threat: another local user. The directories keep everyone else out; whoever can connect to the socket is this user.
package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	"sekisho/internal/atomicfile"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/rolling"
	"sekisho/internal/statedir"
	"sekisho/internal/strictjson"
)

const (
	pageFile   = "page.json"
	socketFile = "control.sock"
	openFile   = "open.html"
	logDir     = "logs"
	logFile    = "relaycodex.log"

	logBytes    = 4 << 20
	logRetained = 3
)

// Page is the content of page.json.
type Page struct {
	Version int `json:"version"`
	Port    int `json:"port"`
}

// Instance is this process's own directory.
type Instance struct {
	fsys     fileop.FS
	dir      *statedir.Dir
	own      *statedir.Instance
	logDir   *os.File
	writer   *rolling.Writer
	log      *slog.Logger
	listener net.Listener
	serving  sync.WaitGroup
	close    sync.Once
	err      error
}

// Open makes and locks a directory below root and opens the log; what earlier instances left behind is removed first.
// Errors are state.unusable.
func Open(ctx context.Context, fsys fileop.FS, root string) (i *Instance, err error) {
	i = &Instance{fsys: fsys}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.Close())
		}
	}()
	if i.dir, err = statedir.Open(fsys, root); err != nil {
		return i, err
	}
	if err := sweep(ctx, fsys, i.dir); err != nil {
		return i, err
	}
	if i.logDir, err = i.dir.Sub(logDir); err != nil {
		return i, err
	}
	if i.writer, err = rolling.Open(fsys, i.logDir, logFile, logBytes, logRetained); err != nil {
		return i, unusable(i.logDir.Name(), err)
	}
	if i.own, err = i.dir.NewInstance(ctx); err != nil {
		return i, err
	}
	i.log = slog.New(slog.NewTextHandler(i.writer, nil)).With("instance", i.own.ID())
	return i, nil
}

// sweep removes the files of instances that no longer run; their directories go with Close.
func sweep(ctx context.Context, fsys fileop.FS, dir *statedir.Dir) error {
	dead, err := dir.Recover(ctx)
	if err != nil {
		return err
	}
	for _, d := range dead.Instances {
		err = errors.Join(err, forget(fsys, d.Path()))
	}
	return errors.Join(err, dead.Close())
}

// forget unlinks what an instance put into its directory.
func forget(fsys fileop.FS, path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, name := range []string{pageFile, socketFile, openFile} {
		if unlinkErr := fsys.Unlink(dir, name); !errors.Is(unlinkErr, fs.ErrNotExist) {
			err = errors.Join(err, unlinkErr)
		}
	}
	return errors.Join(err, atomicfile.Sweep(fsys, dir))
}

// ID names the instance.
func (i *Instance) ID() string { return i.own.ID() }

// Log is the log of R-LOG-01.
func (i *Instance) Log() *slog.Logger { return i.log }

// Publish writes the page's port and answers on the control socket with addresses that address makes.
func (i *Instance) Publish(ctx context.Context, port uint16, address func() string) error {
	dir, err := os.Open(i.own.Path())
	if err != nil {
		return unusable(i.own.Path(), err)
	}
	defer dir.Close()
	data, err := strictjson.Marshal(Page{Version: 1, Port: int(port)})
	if err != nil {
		return err
	}
	if err := atomicfile.Write(i.fsys, dir, pageFile, data, 0o600); err != nil {
		return unusable(i.own.Path(), err)
	}
	if i.listener, err = listen(ctx, dir, socketFile); err != nil {
		return unusable(filepath.Join(i.own.Path(), socketFile), err)
	}
	i.serving.Go(func() { i.serve(address) })
	return nil
}

// WriteOpen writes the file that a browser is started with, and returns its path.
func (i *Instance) WriteOpen(content []byte) (string, error) {
	dir, err := os.Open(i.own.Path())
	if err != nil {
		return "", unusable(i.own.Path(), err)
	}
	defer dir.Close()
	if err := atomicfile.Write(i.fsys, dir, openFile, content, 0o600); err != nil {
		return "", unusable(i.own.Path(), err)
	}
	return filepath.Join(i.own.Path(), openFile), nil
}

// Close ends the socket, removes the directory and closes the log.
func (i *Instance) Close() error {
	i.close.Do(func() {
		if i.listener != nil {
			i.err = i.listener.Close()
		}
		i.serving.Wait()
		if i.own != nil {
			i.err = errors.Join(i.err, forget(i.fsys, i.own.Path()), i.own.Close())
		}
		if i.writer != nil {
			i.err = errors.Join(i.err, i.writer.Close())
		}
		if i.logDir != nil {
			i.err = errors.Join(i.err, i.logDir.Close())
		}
		if i.dir != nil {
			i.err = errors.Join(i.err, i.dir.Close())
		}
	})
	return i.err
}

func unusable(path string, err error) error {
	return fault.New(fault.StateUnusable, fault.Variant("reason"), fault.Target(path), fault.Arg("reason", err), fault.Cause(fmt.Errorf("%s: %w", path, err)))
}
