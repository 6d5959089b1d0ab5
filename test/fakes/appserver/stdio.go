package appserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
)

// Stdio plays the next script over lines and returns the status to exit with when the client has left or the script has
// ended the connection.
func (s *Server) Stdio(in io.Reader, out io.Writer) int {
	l := &stdioLink{in: bufio.NewReader(in), out: out, over: make(chan struct{})}
	s.play(s.begin(), l)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.code
}

// stdioLink is the server's end of a pair of pipes. Ending it leaves the pipes to the process's exit.
type stdioLink struct {
	in  *bufio.Reader
	out io.Writer

	mu     sync.Mutex
	frozen bool
	ended  bool
	code   int
	over   chan struct{}
}

func (l *stdioLink) read() ([]byte, error) {
	type line struct {
		data []byte
		err  error
	}
	for {
		got := make(chan line, 1)
		go func() { // a read of standard input cannot be taken back: it ends with the process
			data, err := l.in.ReadBytes('\n')
			got <- line{data, err}
		}()
		select {
		case <-l.over:
			return nil, errLeft
		case next := <-got:
			if next.err != nil {
				return nil, next.err
			}
			if data := bytes.TrimRight(next.data, "\r\n"); len(data) > 0 {
				return data, nil
			}
		}
	}
}

func (l *stdioLink) write(frame []byte, _ bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
		return errors.New("ended")
	case l.frozen:
		return nil
	}
	_, err := l.out.Write(append(bytes.Clone(frame), '\n'))
	return err
}

func (l *stdioLink) exit(code int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.ended, l.code = true, code
		close(l.over)
	}
}

func (l *stdioLink) close(int) { l.exit(0) }
func (l *stdioLink) drop()     { l.exit(1) }

func (l *stdioLink) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = true
}
