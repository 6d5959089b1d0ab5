package lifecycle

import (
	"io"

	"sekisho/internal/agent/config"
)

// Show prints desired, resolved and applied permissions and changes nothing (A-CLI-03). What cannot be resolved is shown in
// its row and on stderr, and the exit code is a failure.
func Show(o Options, stdout io.Writer) int {
	s, ok := o.load()
	if !ok {
		return ExitFailure
	}
	resolved, problems := config.Resolve(s.loaded)
	if err := config.Show(stdout, s.loaded, resolved, problems, s.places.Store(s.Files)); err != nil {
		s.report(s.loaded.Locale, err)
		return ExitFailure
	}
	if !s.check(problems) {
		return ExitFailure
	}
	return ExitOK
}
