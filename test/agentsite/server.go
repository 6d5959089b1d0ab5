package agentsite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"

	"sekisho/test/product"
)

// patience bounds every wait for a server.
const patience = time.Minute

// Server is a running program as its parent sees it.
type Server struct {
	Cmd   *exec.Cmd
	Out   Output // its standard output
	Log   Output // its standard error
	Ended chan struct{}
	err   error // how it ended; after Ended
}

// Launch starts a server, with the usual meaning of signals, and waits for nothing. Its standard input is what cmd says.
func Launch(cmd *exec.Cmd) (*Server, error) {
	v := &Server{Cmd: cmd, Ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &v.Out, &v.Log
	if err := product.Start(cmd); err != nil {
		return nil, err
	}
	go func() {
		v.err = cmd.Wait()
		close(v.Ended)
	}()
	return v, nil
}

var (
	ready    = regexp.MustCompile(`msg=ready.*\n`)
	endpoint = regexp.MustCompile(`(http://127\.0\.0\.1:\d+/mcp)\b.*\n`)
)

// Ready waits until the server announced that it is ready.
func (v *Server) Ready() error {
	_, err := v.told(ready)
	return err
}

// Serve starts a server of HTTP and returns once it has told its URL, on either output.
func Serve(cmd *exec.Cmd) (v *Server, url string, err error) {
	if v, err = Launch(cmd); err != nil {
		return nil, "", err
	}
	if url, err = v.told(endpoint); err != nil {
		v.Kill()
	}
	return v, url, err
}

// told waits for a text on either output and returns the expression's last group.
func (v *Server) told(what *regexp.Regexp) (string, error) {
	limit := time.After(patience)
	for ended := false; ; {
		out, log := v.Out.changes(), v.Log.changes()
		if m := what.FindStringSubmatch(v.Out.String() + v.Log.String()); m != nil {
			return m[len(m)-1], nil
		}
		if ended {
			return "", fmt.Errorf("the server ended too early: %v\n%s%s", v.err, v.Out.String(), v.Log.String())
		}
		select {
		case <-out:
		case <-log:
		case <-v.Ended:
			ended = true
		case <-limit:
			return "", fmt.Errorf("the server never told %s\n%s%s", what, v.Out.String(), v.Log.String())
		}
	}
}

// Line returns the next whole line of standard output; more is false at its end.
func (v *Server) Line() (line string, more bool, err error) {
	limit := time.After(patience)
	for {
		changed := v.Out.changes()
		if line, ok := v.Out.line(); ok {
			return line, true, nil
		}
		select {
		case <-changed:
		case <-v.Ended:
			line, ok := v.Out.line()
			return line, ok, nil
		case <-limit:
			return "", false, fmt.Errorf("no line in time\n%s", v.Log.String())
		}
	}
}

// Exit waits for the server's end and returns its exit code, -1 after a signal.
func (v *Server) Exit() (int, error) {
	select {
	case <-v.Ended:
	case <-time.After(patience):
		return 0, fmt.Errorf("the server did not end:\n%s", v.Log.String())
	}
	var exit *exec.ExitError
	if errors.As(v.err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, v.err
}

// Stop ends the server with a signal and returns its exit code.
func (v *Server) Stop(sig os.Signal) (int, error) {
	if err := v.Cmd.Process.Signal(sig); err != nil {
		return 0, err
	}
	return v.Exit()
}

// Finish ends the server in order; that it ended otherwise is an error.
func (v *Server) Finish() error {
	code, err := v.Stop(syscall.SIGTERM)
	if err != nil {
		v.Kill()
		return err
	}
	if code != 0 {
		return fmt.Errorf("the server ended with %d\n%s", code, v.Log.String())
	}
	return nil
}

// Kill kills the server and waits for its end. It may have ended.
func (v *Server) Kill() {
	v.Cmd.Process.Kill()
	<-v.Ended
}

// Output keeps what a program writes, and hands out its lines one by one.
type Output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	at      int // where the next line begins
	changed chan struct{}
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
	return o.text.Write(p)
}

// String is all that was written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// changes is closed with the next write.
func (o *Output) changes() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	return o.changed
}

func (o *Output) line() (string, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	rest := o.text.Bytes()[o.at:]
	end := bytes.IndexByte(rest, '\n')
	if end < 0 {
		return "", false
	}
	o.at += end + 1
	return string(rest[:end+1]), true
}
