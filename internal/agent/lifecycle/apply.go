package lifecycle

import (
	"context"
	"fmt"
	"io"

	"sekisho/internal/agent/config"
)

// ApplyOptions are apply's own.
type ApplyOptions struct {
	Options
	Stdout io.Writer
	// Yes skips the question; Terminal tells that a person can answer it on Stdin.
	Yes, Terminal bool
}

// Apply resolves the configuration, shows what differs from the applied one, asks once, and makes it the applied one
// (A-CLI-02, A-CFG-04).
func Apply(ctx context.Context, o ApplyOptions) int {
	s, ok := o.load()
	if !ok {
		return ExitFailure
	}
	resolved, problems := config.Resolve(s.loaded)
	if !s.check(problems) {
		return ExitFailure
	}
	store := s.places.Store(s.Files)
	err := config.Apply(ctx, s.loaded, resolved, store, config.UI{In: s.Stdin, Out: o.Stdout, Terminal: o.Terminal, Yes: o.Yes})
	if err != nil {
		s.report(s.loaded.Locale, err)
		return ExitFailure
	}
	lines, _ := s.examine(ctx, &resolved.Policy)
	for _, line := range lines {
		fmt.Fprintln(s.Stderr, line)
	}
	return ExitOK
}
