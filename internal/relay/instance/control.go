package instance

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/strictjson"
)

// The control socket takes one question and gives one answer per connection, one JSON line each.
type question struct {
	Version int    `json:"version"`
	Want    string `json:"want"` // url
}

type answer struct {
	Version int    `json:"version"`
	URL     string `json:"url,omitzero"`
	Error   string `json:"error,omitzero"`
}

const (
	controlVersion = 1
	controlTime    = 5 * time.Second
	controlBytes   = 4 << 10
	acceptPause    = 50 * time.Millisecond // after a failure; Close waits for it
)

// serve answers until the listener is closed. Whoever connects waits for those before: there is one person. What keeps it
// from accepting, such as a lack of descriptors, passes: it tries again, and tells the log once.
func (i *Instance) serve(address func() string) {
	failing := false
	for {
		c, err := i.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			if !failing {
				i.log.Warn("control socket", "err", err)
			}
			failing = true
			<-time.After(acceptPause)
			continue
		}
		failing = false
		if err := reply(c, address); err != nil {
			i.log.Warn("control socket: a question was not answered")
		}
	}
}

func reply(c net.Conn, address func() string) error {
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(controlTime)); err != nil {
		return err
	}
	line, err := readLine(c)
	if err != nil {
		return err
	}
	var q question
	a := answer{Version: controlVersion}
	switch err := strictjson.UnmarshalOpen(line, controlBytes, &q); {
	case err != nil || q.Version != controlVersion:
		a.Error = "version"
	case q.Want != "url":
		a.Error = "unknown"
	default:
		a.URL = address()
	}
	data, err := strictjson.Marshal(a)
	if err != nil {
		return err
	}
	_, err = c.Write(append(data, '\n'))
	return err
}

func readLine(r io.Reader) ([]byte, error) {
	var line []byte
	b := make([]byte, 1)
	for len(line) < controlBytes {
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		if b[0] == '\n' {
			return line, nil
		}
		line = append(line, b[0])
	}
	return nil, errors.New("the line is too long")
}

// Running are the ids of the instances below root that can be connected to, in order.
func Running(ctx context.Context, root string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, "instances"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unusable(root, err)
	}
	var ids []string
	for _, e := range entries {
		if c, err := dial(ctx, root, e.Name()); err == nil {
			c.Close()
			ids = append(ids, e.Name())
		}
	}
	slices.Sort(ids)
	return ids, nil
}

func dial(ctx context.Context, root, id string) (net.Conn, error) {
	dir, err := os.Open(filepath.Join(root, "instances", id))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	limited, cancel := context.WithTimeout(ctx, controlTime)
	defer cancel()
	return (&net.Dialer{}).DialContext(limited, "unix", socketPath(dir, socketFile))
}

// URL asks a running instance for a fresh page address; an empty id means the only one. Errors are relay.instance, with
// the variants several (ids tells which), unknown and silent.
func URL(ctx context.Context, root, id string) (url string, ids []string, err error) {
	ids, err = Running(ctx, root)
	if err != nil {
		return "", nil, err
	}
	switch {
	case len(ids) == 0:
		return "", nil, fault.New(fault.RelayInstance)
	case id != "" && !slices.Contains(ids, id):
		return "", ids, fault.New(fault.RelayInstance, fault.Variant("unknown"), fault.Arg("id", id))
	case id == "" && len(ids) > 1:
		return "", ids, fault.New(fault.RelayInstance, fault.Variant("several"))
	case id == "":
		id = ids[0]
	}
	url, err = ask(ctx, root, id)
	if err != nil {
		return "", ids, fault.New(fault.RelayInstance, fault.Variant("silent"), fault.Arg("id", id), fault.Cause(err))
	}
	return url, ids, nil
}

func ask(ctx context.Context, root, id string) (string, error) {
	c, err := dial(ctx, root, id)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(controlTime)); err != nil {
		return "", err
	}
	data, err := strictjson.Marshal(question{controlVersion, "url"})
	if err != nil {
		return "", err
	}
	if _, err := c.Write(append(data, '\n')); err != nil {
		return "", err
	}
	line, err := readLine(c)
	if err != nil {
		return "", err
	}
	var a answer
	if err := strictjson.UnmarshalOpen(line, controlBytes, &a); err != nil {
		return "", err
	}
	if a.Version != controlVersion || a.URL == "" {
		return "", errors.New("it speaks another version")
	}
	return a.URL, nil
}
