// Package wireout keeps standard output for MCP messages (A-MCP-04).
//
// When this process is the server, the package's initialization moves file descriptor 1 to a private one that no child
// inherits, and makes descriptor 1 another name of descriptor 2: whatever prints to standard output from then on (a
// package's initialization, a goroutine that dies, a child) prints to standard error, and only the transport, which
// takes the private descriptor, reaches the client. Main imports it first, and it depends on nothing that could print,
// so that it runs before every package of this module.
//
// The other roles (apply, show, --help, --version) keep their standard output. The launcher of sandboxes, which is this program
// without arguments too, has none.
package wireout

import (
	"errors"
	"os"
	"strings"
)

var (
	wire    *os.File
	errWire = errors.New("standard output was not set apart: this process is not the server")
)

func init() {
	if Serves(os.Args) {
		wire, errWire = setApart()
	}
}

// Serves reports whether arguments (with the program's name) ask for the server: none, or one configuration file.
func Serves(args []string) bool {
	switch len(args) {
	case 1:
		return true
	case 2:
		return args[1] != "apply" && args[1] != "show" && !strings.HasPrefix(args[1], "-")
	}
	return false
}

// Take hands over the private descriptor of standard output. It is called once; the caller closes it.
func Take() (*os.File, error) {
	f, err := wire, errWire
	wire, errWire = nil, errors.New("standard output was taken already")
	return f, err
}
