// Command appserver is the fake app-server as a program, so that a supervisor can start it in the place of the real one.
//
// It takes any arguments. With --version among them it prints a version line as codex does. Otherwise it plays one
// connection over standard input and output:
//
//	FAKE_APPSERVER_SCRIPT   file with a JSON array of scripts, one per start; required
//	FAKE_APPSERVER_RECORD   file to which each start and each received message is appended as a JSON line; required
//	FAKE_APPSERVER_VERSION  version to print; default 0.159.1
//
// What went differently from the script goes to standard error and makes it exit with status 70.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"sekisho/test/fakes/appserver"
)

// record is one line of the record file.
type record struct {
	Start   int             `json:"start,omitzero"` // process id
	Message json.RawMessage `json:"message,omitzero"`
	Text    string          `json:"text,omitzero"` // a message that is no JSON
}

func main() {
	code, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "appserver:", err)
		code = 70
	}
	os.Exit(code)
}

func run() (int, error) {
	if slices.Contains(os.Args[1:], "--version") {
		version := os.Getenv("FAKE_APPSERVER_VERSION")
		if version == "" {
			version = "0.159.1"
		}
		fmt.Println("codex-cli " + version)
		return 0, nil
	}
	data, err := os.ReadFile(os.Getenv("FAKE_APPSERVER_SCRIPT"))
	if err != nil {
		return 0, err
	}
	var scripts []appserver.Script
	if err := json.Unmarshal(data, &scripts); err != nil {
		return 0, err
	}
	log, err := os.OpenFile(os.Getenv("FAKE_APPSERVER_RECORD"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	earlier, err := io.ReadAll(log)
	if err != nil {
		return 0, err
	}
	n := bytes.Count(earlier, []byte(`{"start":`))
	enc := json.NewEncoder(log)
	if err := enc.Encode(record{Start: os.Getpid()}); err != nil {
		return 0, err
	}
	if n >= len(scripts) {
		return 0, fmt.Errorf("start %d has no script", n+1)
	}
	s := appserver.New(scripts[n])
	s.OnMessage(func(m appserver.Message) {
		r := record{Message: m.Raw}
		if !json.Valid(m.Raw) {
			r = record{Text: string(m.Raw)}
		}
		enc.Encode(r)
	})
	code := s.Stdio(os.Stdin, os.Stdout)
	return code, s.Err()
}
