package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"sekisho/test/mcpclient"
)

// server is the real program with a client, whose messages are kept in a transcript.
type server struct {
	*mcpclient.Client
	transcript *os.File
}

// startServer starts the real program on a configuration; its standard error goes to log.
func startServer(ctx context.Context, s *scene, log io.Writer) (*server, error) {
	path := fmt.Sprintf("%s/transcript-%d.txt", s.dir, len(s.run.Transcripts)+1)
	transcript, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, s.run.Program, s.config)
	cmd.Env, cmd.Dir, cmd.Stderr = s.env, s.dir, log
	c, err := mcpclient.Start(cmd)
	if err != nil {
		return nil, errors.Join(err, transcript.Close())
	}
	c.Transcript = transcript
	s.run.Transcripts = append(s.run.Transcripts, path)
	s.run.PIDs = append(s.run.PIDs, cmd.Process.Pid)
	v := &server{c, transcript}
	if err := c.Initialize("sekisho-demo"); err != nil {
		return nil, fmt.Errorf("the server did not start: %w", errors.Join(err, v.stop()))
	}
	return v, nil
}

// stop closes the client's side and waits for the server to go.
func (v *server) stop() error { return errors.Join(v.Close(), v.transcript.Close()) }

// kill ends the server as a crash would.
func (v *server) kill() {
	v.Kill()
	v.transcript.Close()
}
