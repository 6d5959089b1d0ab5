//go:build linux

package initproc

import (
	"testing"
)

// proves A-SBX-09
func TestWhatIsNotCopied(t *testing.T) {
	for line, want := range map[string]struct {
		from, size uintptr
		own        bool
	}{
		"c000000000-c000400000 rw-p 00000000 00:00 0 \n":                             {0xc000000000, 0x400000, true},
		"7ffe54a6b000-7ffe54a8c000 rw-p 00000000 00:00 0      [stack]\n":             {0x7ffe54a6b000, 0x21000, true},
		"00400000-00a1c000 r-xp 00000000 fe:00 1234           /usr/bin/agent-mcp\n":  {0x400000, 0x61c000, false},
		"7f0000000000-7f0000001000 rw-s 00000000 00:01 99     /dev/zero (deleted)\n": {0x7f0000000000, 0x1000, false},
		"c000400000-c004000000 ---p 00000000 00:00 0 \n":                             {0xc000400000, 0x3c00000, false},
	} {
		if from, size, own, err := mapping(line); err != nil || from != want.from || size != want.size || own != want.own {
			t.Errorf("%q: %#x, %#x, %v, %v", line, from, size, own, err)
		}
	}
	for _, line := range []string{"", "\n", "c000000000 rw-p 0 0 0", "2000-1000 rw-p 0 0 0", "1000-x rw-p 0 0 0", "1000-2000 rw 0 0 0"} {
		if _, _, _, err := mapping(line); err == nil {
			t.Errorf("%q was taken", line)
		}
	}
}
