//go:build linux && !cgo

package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == swapArg {
		swap(os.Args[2:])
		return
	}
	os.Exit(m.Run())
}

// A short one; make race-fs is the long one.
//
// proves A-POL-02, A-TOOL-01, A-TOOL-02, A-TOOL-03, A-TOOL-04, A-TOOL-06
func TestSwappedNamesLeakNothing(t *testing.T) {
	var out strings.Builder
	failed, err := race(t.Context(), 4*time.Second, &out)
	if err != nil || failed > 0 || !strings.HasSuffix(out.String(), " passed, 0 failed\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	t.Log("\n" + out.String())
}
