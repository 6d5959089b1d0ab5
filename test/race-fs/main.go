//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// swapArg makes this program a swapper.
const swapArg = "swap"

func main() {
	if len(os.Args) > 2 && os.Args[1] == swapArg {
		swap(os.Args[2:])
		return
	}
	seconds := flag.Int("seconds", 60, "how long the race is run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed, err := race(ctx, time.Duration(*seconds)*time.Second, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "race-fs:", err)
		os.Exit(1)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// swap exchanges each pair of names in turn until standard input ends.
func swap(names []string) {
	done := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	n := 0
	for {
		select {
		case <-done:
			fmt.Println(n)
			return
		default:
		}
		for i := 0; i+1 < len(names); i += 2 {
			// A name is missing for a moment while a tool replaces the file.
			if err := unix.Renameat2(unix.AT_FDCWD, names[i], unix.AT_FDCWD, names[i+1], unix.RENAME_EXCHANGE); err == nil {
				n++
			}
		}
	}
}

// swapper is a process that swaps.
type swapper struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.ReadCloser
}

func startSwapper(names ...string) (*swapper, error) {
	s := &swapper{cmd: exec.Command("/proc/self/exe", append([]string{swapArg}, names...)...)}
	s.cmd.Stderr = os.Stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if s.out, err = s.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return s, s.cmd.Start()
}

// stop ends it and returns how often it swapped.
func (s *swapper) stop() (n int, err error) {
	s.in.Close()
	_, err = fmt.Fscan(s.out, &n)
	if werr := s.cmd.Wait(); err == nil {
		err = werr
	}
	return n, err
}
