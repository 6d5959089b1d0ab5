//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"sekisho/test/relayworld"
)

// request is one line of standard input; answer is one line of standard output. They are answered in the order in which
// they are done, which need not be the order in which they came.
type request struct {
	ID    int             `json:"id"`
	Do    string          `json:"do"`
	World int             `json:"world"`
	Args  json.RawMessage `json:"args"`
}

type answer struct {
	ID    int    `json:"id"`
	Value any    `json:"value,omitempty"`
	Error string `json:"error,omitempty"`
}

func main() {
	if relayworld.Child() {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "stage:", err)
		os.Exit(1)
	}
}

// run answers requests until standard input ends, and takes every world down.
func run(ctx context.Context) error {
	s := &stage{ctx: ctx, worlds: map[int]*world{}}
	defer s.close()
	var writing sync.Mutex
	var busy sync.WaitGroup
	defer busy.Wait()
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		in := bufio.NewReaderSize(os.Stdin, 1<<20)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	out := json.NewEncoder(os.Stdout)
	for {
		var line []byte
		var ok bool
		select {
		case line, ok = <-lines:
		case <-ctx.Done():
		}
		if !ok {
			return nil
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		busy.Go(func() {
			value, err := s.do(r)
			a := answer{ID: r.ID, Value: value}
			if err != nil {
				a = answer{ID: r.ID, Error: err.Error()}
			}
			writing.Lock()
			defer writing.Unlock()
			if err := out.Encode(a); err != nil {
				fmt.Fprintln(os.Stderr, "stage:", err)
			}
		})
	}
}

// stage holds the worlds of one run.
type stage struct {
	ctx context.Context

	mu     sync.Mutex
	worlds map[int]*world
	last   int
}

func (s *stage) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.worlds {
		w.close()
	}
	clear(s.worlds)
}

func (s *stage) world(id int) (*world, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.worlds[id]; w != nil {
		return w, nil
	}
	return nil, errors.New("there is no such world")
}

func (s *stage) do(r request) (any, error) {
	if r.Do == "open" {
		var o options
		if err := json.Unmarshal(r.Args, &o); err != nil {
			return nil, err
		}
		var beside *world
		if o.Beside != 0 {
			var err error
			if beside, err = s.world(o.Beside); err != nil {
				return nil, err
			}
			if !beside.o.Remote {
				return nil, errors.New("beside needs a remote world")
			}
		}
		w, err := open(s.ctx, o, beside)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last++
		s.worlds[s.last] = w
		return map[string]any{"world": s.last, "address": w.relay.Endpoint.Address(), "work": w.work}, nil
	}
	w, err := s.world(r.World)
	if err != nil {
		return nil, err
	}
	if r.Do == "close" {
		s.mu.Lock()
		delete(s.worlds, r.World)
		s.mu.Unlock()
		return nil, w.close()
	}
	return w.do(r.Do, r.Args)
}
