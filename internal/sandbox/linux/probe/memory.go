//go:build linux

package probe

import (
	"io/fs"
	"strconv"
	"strings"
)

// FreeMemory is what the kernel could give without pushing anything out, in bytes, as it estimates itself.
func FreeMemory(proc fs.FS) (bytes int64, ok bool) {
	for line := range strings.Lines(text(proc, "meminfo")) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemAvailable:" && f[2] == "kB" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}
