//go:build !unix

package ollama

import (
	"errors"
	"os"
)

// openPrivate refuses: on this system nothing here proves yet that a file is closed to other users.
func openPrivate(string) (*os.File, error) {
	return nil, errors.New("a header value file is not supported on this system")
}
