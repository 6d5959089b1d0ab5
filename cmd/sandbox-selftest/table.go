//go:build linux

package main

import (
	"fmt"
	"io"
	"strings"

	"sekisho/internal/sandbox/matrix"
)

// tally counts rows; a blocked row counts as failed, because nothing was shown.
type tally struct{ passed, failed int }

func (t *tally) add(r matrix.Row) {
	if r.Status == matrix.Passed {
		t.passed++
	} else {
		t.failed++
	}
}

// report hands the counts to the root run, which judges them, as the last line of the output.
func (t tally) report(out io.Writer) { fmt.Fprintf(out, countsLine, t.passed, t.failed) }

const countsLine = "counts: %d %d\n"

// printRow is one row for a reader who knows nothing: what was tried, what should happen, whether it did.
func printRow(out io.Writer, r matrix.Row) {
	fmt.Fprintf(out, "%-6s %-8s %5.1fs  %s → %s", r.ID, r.Status, r.Elapsed.Seconds(), r.Title, r.Expected)
	if r.Status == matrix.Passed {
		fmt.Fprintf(out, "  [%s]", r.Detail)
	}
	fmt.Fprintln(out)
	if r.Status != matrix.Passed {
		for line := range strings.SplitSeq(r.Detail, "; ") {
			fmt.Fprintf(out, "                         %s\n", line)
		}
	}
}
