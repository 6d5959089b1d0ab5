//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"

	"sekisho/test/mcpclient"
)

// client is one running server and its MCP client.
type client struct {
	*mcpclient.Client
	s      *site
	stderr string // file
}

// serve starts a server and initializes the session; an error means that it did not answer. crashAt makes test/crash/server
// kill itself at that durable effect. The client is usable for Close and log in any case.
func (s *site) serve(program string, crashAt int) (*client, error) {
	cmd := s.command(program, s.config)
	cmd.Env = append(cmd.Env, fmt.Sprint("CRASH_AT=", crashAt))
	c := &client{Client: &mcpclient.Client{Cmd: cmd}, s: s}
	logs, err := os.CreateTemp(s.dir, "stderr-")
	if err != nil {
		return c, err
	}
	defer logs.Close()
	c.stderr = logs.Name()
	cmd.Stderr = logs
	c.Client, err = mcpclient.Connect(cmd, "selftest")
	return c, err
}

// runs has a request done and returns the task's last status.
func (c *client) runs() (string, error) {
	task, err := c.Run("do it")
	if err != nil {
		return "", err
	}
	return c.Await(c.s.sc.ctx, task)
}

// refused reports whether the server answered with an error.
func refused(err error) bool {
	var r *mcpclient.RefusedError
	return errors.As(err, &r)
}

func (c *client) log() string { return c.s.read(c.stderr) }
