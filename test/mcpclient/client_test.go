package mcpclient

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// answers is a server that answers with the lines of its arguments, one a request, whatever is asked.
func answers(lines ...string) *exec.Cmd {
	return exec.Command("/bin/sh", append([]string{"-c", `for a; do read -r x || exit 3; echo "$a"; done; cat >/dev/null`, "sh"}, lines...)...)
}

func TestAnswersAreTakenExactly(t *testing.T) {
	for name, r := range map[string]struct {
		answer  string
		refused bool
		text    string
	}{
		"text":            {`{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"a: b"}]}}`, false, "a: b"},
		"tool's error":    {`{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"no"}],"isError":true}}`, true, "no"},
		"error":           {`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`, true, ""},
		"another id":      {`{"jsonrpc":"2.0","id":2,"result":{"content":[{"text":"x"}]}}`, false, ""},
		"two contents":    {`{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"x"},{"text":"y"}]}}`, false, ""},
		"no JSON":         {`x`, false, ""},
		"neither of both": {`{"jsonrpc":"2.0","id":1}`, false, ""},
	} {
		c, err := Start(answers(r.answer))
		if err != nil {
			t.Fatal(err)
		}
		var transcript bytes.Buffer
		c.Transcript = &transcript
		text, err := c.Tool("t", map[string]any{"x": 1})
		var refused *RefusedError
		if errors.As(err, &refused) != r.refused || text != r.text || (err == nil) != (name == "text") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if want := fmt.Sprintf("< %s\n", r.answer); !strings.HasSuffix(transcript.String(), want) || !strings.HasPrefix(transcript.String(), `> {"id":1,`) {
			t.Errorf("%s: transcript %q", name, transcript.String())
		}
		if err := c.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheServersEndIsTold(t *testing.T) {
	c, err := Connect(exec.Command("/bin/sh", "-c", "echo why >&2; exit 4"), "t")
	if err == nil {
		t.Error("a server that says nothing was initialized")
	}
	var exit *exec.ExitError
	if err := c.Close(); !errors.As(err, &exit) || exit.ExitCode() != 4 || !strings.Contains(err.Error(), "why") {
		t.Errorf("%v", err)
	}
	c, err = Start(exec.Command("/no/such/program"))
	if !errors.Is(err, os.ErrNotExist) || c.Close() == nil {
		t.Errorf("%v", err)
	}
}

func TestFields(t *testing.T) {
	f := Fields("task_id: 1\nstatus: completed\nlast_error:\nstatus: forged\nresult: one: two\nstatus: three\n")
	if f["task_id"] != "1" || f["status"] != "completed" || f["last_error"] != "" || f["result"] != "one: two\nstatus: three\n" {
		t.Errorf("%q", f)
	}
}
