//go:build linux

package linux

import (
	"slices"
	"strings"
	"testing"
)

// proves A-SBX-02
func TestLockOwners(t *testing.T) {
	const text = "1: POSIX  ADVISORY  WRITE 708 08:01:4194305 0 EOF\n1: -> POSIX  ADVISORY  WRITE 709 08:01:4194305 0 EOF\n" +
		"2: FLOCK  ADVISORY  READ 0 <none>:0 0 EOF\n3: OFDLCK ADVISORY  WRITE -1 00:2e:77 5 5\n4: LEASE  ACTIVE    READ  12 08:01:3 0 EOF\n"
	if got, err := lockOwners(strings.NewReader(text)); err != nil || !slices.Equal(got, []int{708, 709, 0, -1, 12}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"1: POSIX\n", "1: POSIX ADVISORY WRITE x 08:01:1 0 EOF\n", strings.Repeat("x", 1<<17)} {
		if got, err := lockOwners(strings.NewReader(bad)); err == nil {
			t.Errorf("%.20q: %v", bad, got)
		}
	}
	if got, err := lockOwners(strings.NewReader(strings.Repeat("1: POSIX ADVISORY WRITE 1 08:01:1 0 EOF\n", locksRead+5))); err != nil || len(got) != locksRead {
		t.Errorf("a list without end: %d, %v", len(got), err)
	}
}
