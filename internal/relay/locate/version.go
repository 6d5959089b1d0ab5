package locate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

var versionLine = regexp.MustCompile(`^codex(?:-cli)? (\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$`)

// Version asks the binary for its version: one line `codex-cli X.Y.Z`, within ten seconds.
func Version(ctx context.Context, binary string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "--version")
	cmd.WaitDelay = time.Second
	var out limited
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return "", unusable(binary, fmt.Errorf("asking for its version: %w", err))
	}
	for line := range strings.Lines(out.String()) {
		if m := versionLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			return m[1], nil
		}
	}
	return "", unusable(binary, errors.New("it does not answer --version as codex does"))
}

// limited keeps the first 4 KiB.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := 4096 - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
