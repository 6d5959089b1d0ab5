// Package desktop opens a page or file in the person's own program. Nothing passes through a shell: the program gets one
// argument.
//
// A page address has a key in it, and the arguments of a process can be read by every user of the machine. So an address
// is never an argument: Redirect is the content of a user-only file that leads there, and that file is opened.
package desktop

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/url"
	"os/exec"
	"path/filepath"
	"time"
)

// limit is for the opener, which hands over and returns.
const limit = 10 * time.Second

// OpenFile opens a file of this machine by its absolute path.
func OpenFile(ctx context.Context, path string) error {
	if !filepath.IsAbs(path) {
		return errors.New("opening: the path is not absolute")
	}
	name, args := opener(path)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(limited, name, args...)
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("opening with %s: %w", name, err)
	}
	return nil
}

// Redirect is a document that leads to an http address on loopback.
func Redirect(address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return nil, errors.New("opening: not the address of a page")
	}
	return fmt.Appendf(nil, "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">"+
		"<meta http-equiv=\"refresh\" content=\"0;url=%s\"><title>relaycodex</title>\n", html.EscapeString(address)), nil
}
