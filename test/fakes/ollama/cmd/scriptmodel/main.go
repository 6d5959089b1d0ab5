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
	if err := run(ctx, *record, *upstream, *keep, *port, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "scriptmodel:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, record, upstream string, keep bool, port int, args []string) error {
	if (record == "") != (len(args) == 1) {
		return errors.New("give either one script or -record FILE")
	}
	if record != "" {
		r := &scriptmodel.Recorder{Upstream: upstream, KeepRequests: keep}
		if err := serve(ctx, r, port); err != nil {
			return err
		}
		script, err := r.Script()
		if err != nil {
			return err
		}
		return os.WriteFile(record, script, 0o600)
	}
	s, err := scriptmodel.Load(args[0])
	if err != nil {
		return err
	}
	v := scriptmodel.New(s)
	if err := serve(ctx, v, port); err != nil {
		return err
	}
	for _, f := range v.Failures() {
		err = errors.Join(err, errors.New(f))
	}
	return err
}

// serve answers on loopback until ctx ends.
func serve(ctx context.Context, h http.Handler, port int) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
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
