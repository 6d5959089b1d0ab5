// Command scriptmodel serves a scripted model on loopback, or records a real one.
//
//	scriptmodel SCRIPT                                   serve a script until interrupted
//	scriptmodel -record FILE -upstream URL [-keep]       pass on to a real Ollama and write the script at the end
//
// It prints the address to use as ollama.endpoint.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	scriptmodel "sekisho/test/fakes/ollama"
)

func main() {
	record := flag.String("record", "", "write the recorded script to this `file`")
	upstream := flag.String("upstream", "http://127.0.0.1:11434", "real Ollama to record")
	keep := flag.Bool("keep", false, "keep the recorded requests, not only their hashes")
	port := flag.Int("port", 0, "port on 127.0.0.1; 0 picks a free one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options{record: *record, upstream: *upstream, keep: *keep, port: *port, out: os.Stdout}
	if err := o.run(ctx, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "scriptmodel:", err)
		os.Exit(1)
	}
}

type options struct {
	record, upstream string
	keep             bool
	port             int
	out              io.Writer
}

func (o options) run(ctx context.Context, args []string) error {
	if (o.record == "") != (len(args) == 1) || len(args) > 1 {
		return errors.New("give either one script or -record FILE")
	}
	if o.record != "" {
		return o.recordTo(ctx)
	}
	s, err := scriptmodel.Load(args[0])
	if err != nil {
		return err
	}
	v := scriptmodel.New(s)
	if err := o.serve(ctx, v); err != nil {
		return err
	}
	for _, f := range v.Failures() {
		err = errors.Join(err, errors.New(f))
	}
	return err
}

func (o options) recordTo(ctx context.Context) error {
	r := scriptmodel.NewRecorder(o.upstream, o.keep)
	defer r.Close()
	if err := o.serve(ctx, r); err != nil {
		return err
	}
	script, err := r.Script()
	if err != nil {
		return err
	}
	return os.WriteFile(o.record, script, 0o600)
}

// serve answers on loopback until ctx ends.
func (o options) serve(ctx context.Context, h http.Handler) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", o.port))
	if err != nil {
		return err
	}
	fmt.Fprintln(o.out, "http://"+l.Addr().String())
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		server.Close()
		<-done
		return nil
	}
}
