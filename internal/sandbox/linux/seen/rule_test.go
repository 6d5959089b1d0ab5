//go:build linux

package seen

import (
	"reflect"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"sekisho/internal/sandbox"
)

const now = int64(1_700_000_000_000_000_000)

// clock is one that a test sets.
type clock struct {
	now     int64
	stepped bool
}

func (c *clock) Now() int64 { return c.now }
func (c *clock) Stepped() bool {
	was := c.stepped
	c.stepped = false
	return was
}

// program is a state that can be known again.
func program() State {
	return State{ID: sandbox.FileID{Dev: 7, Ino: 11}, Mount: 3, Mode: unix.S_IFREG | 0o755, Links: 1, Size: 100, Changed: now - int64(settled) - 1,
		Modified: 5, Born: 4, Filesystem: unix.EXT4_SUPER_MAGIC}
}

// known is a table that knows program with digest and scope.
func known(t interface{ Fatal(...any) }) (*Table, *clock) {
	c := &clock{now: now}
	table := New(c)
	table.Keep(program(), program(), now, "sum", "scope")
	if !table.Unchanged(program(), "sum", "scope") {
		t.Fatal("what was kept is not known")
	}
	return table, c
}

// members lists every settable member of a state, also of the structures in it.
func members(v reflect.Value) []reflect.Value {
	if v.Kind() != reflect.Struct {
		return []reflect.Value{v}
	}
	var out []reflect.Value
	for i := range v.NumField() {
		out = append(out, members(v.Field(i))...)
	}
	return out
}

// Whatever single member differs from the last full hash, and by whatever amount, the program is hashed again.
//
// proves A-POL-04
func TestAnyDifferenceIsHashed(t *testing.T) {
	count := len(members(reflect.ValueOf(program())))
	if count != 14 {
		t.Fatalf("a state has %d members", count)
	}
	rapid.Check(t, func(t *rapid.T) {
		by := rapid.Uint64Range(1, 1<<63).Draw(t, "by")
		for i := range count {
			table, _ := known(t)
			s := program()
			v := members(reflect.ValueOf(&s).Elem())[i]
			if v.CanInt() {
				v.SetInt(v.Int() ^ int64(by))
			} else {
				v.SetUint(v.Uint() ^ max(1, by>>(64-v.Type().Bits())))
			}
			if table.Unchanged(s, "sum", "scope") {
				t.Errorf("%+v passes for unchanged", s)
			}
		}
	})
	table, _ := known(t)
	if table.Unchanged(program(), "other", "scope") || table.Unchanged(program(), "sum", "other") {
		t.Error("another digest or other writable roots pass for unchanged")
	}
}

// What could be written by anybody but root, has another name, lies on a file system whose stamps prove nothing or was changed
// too shortly before the hash is not remembered.
//
// proves A-POL-04
func TestWhatIsNotRemembered(t *testing.T) {
	for name, change := range map[string]func(*State){
		"tmpfs":                       func(s *State) { s.Filesystem = unix.TMPFS_MAGIC },
		"overlay":                     func(s *State) { s.Filesystem = unix.OVERLAYFS_SUPER_MAGIC },
		"FUSE":                        func(s *State) { s.Filesystem = unix.FUSE_SUPER_MAGIC },
		"NFS":                         func(s *State) { s.Filesystem = unix.NFS_SUPER_MAGIC },
		"9p":                          func(s *State) { s.Filesystem = unix.V9FS_MAGIC },
		"vfat":                        func(s *State) { s.Filesystem = unix.MSDOS_SUPER_MAGIC },
		"exfat":                       func(s *State) { s.Filesystem = unix.EXFAT_SUPER_MAGIC },
		"squashfs":                    func(s *State) { s.Filesystem = unix.SQUASHFS_MAGIC },
		"unknown file system":         func(s *State) { s.Filesystem = 0 },
		"unknown mount":               func(s *State) { s.Mount = 0 },
		"directory":                   func(s *State) { s.Mode = unix.S_IFDIR | 0o755 },
		"group may write":             func(s *State) { s.Mode |= 0o020 },
		"everybody may write":         func(s *State) { s.Mode |= 0o002 },
		"a user's":                    func(s *State) { s.UID = 1000 },
		"the sandbox's user's":        func(s *State) { s.UID = 2147450881 },
		"what a user may mount":       func(s *State) { s.Flags |= unix.MS_NOSUID },
		"two names":                   func(s *State) { s.Links = 2 },
		"no name":                     func(s *State) { s.Links = 0 },
		"mappings are the storage":    func(s *State) { s.Attributes |= unix.STATX_ATTR_DAX },
		"never stamped":               func(s *State) { s.Changed = 0 },
		"changed 2 s before the hash": func(s *State) { s.Changed = now - int64(2*time.Second) },
		"changed right before":        func(s *State) { s.Changed = now - 1 },
		"changed in the future":       func(s *State) { s.Changed = now + int64(time.Hour) },
	} {
		table := New(&clock{now: now})
		s := program()
		change(&s)
		table.Keep(s, s, now, "sum", "")
		if table.Unchanged(s, "sum", "") {
			t.Errorf("%s: passes for unchanged", name)
		}
	}
	for name, keep := range map[string]func(*Table, *clock){
		"changed while it was hashed": func(table *Table, _ *clock) {
			after := program()
			after.Changed++
			table.Keep(program(), after, now, "sum", "")
		},
		"the clock was set while it was hashed": func(table *Table, c *clock) {
			c.now -= int64(time.Minute)
			table.Keep(program(), program(), now, "sum", "")
		},
	} {
		c := &clock{now: now}
		table := New(c)
		keep(table, c)
		if table.Unchanged(program(), "sum", "") {
			t.Errorf("%s: passes for unchanged", name)
		}
	}
}

// A hash that finds a program which cannot be remembered any more also forgets what was known of it.
//
// proves A-POL-04
func TestTheLastFullHashCounts(t *testing.T) {
	table, _ := known(t)
	changed := program()
	changed.Links = 2
	table.Keep(changed, changed, now, "sum", "scope")
	if table.Unchanged(program(), "sum", "scope") {
		t.Error("an older hash is still known")
	}
}

// proves A-POL-04
func TestAClockThatWasSetForgetsEverything(t *testing.T) {
	table, c := known(t)
	c.stepped = true
	if table.Unchanged(program(), "sum", "scope") {
		t.Error("known over a step of the clock")
	}
	if table.Unchanged(program(), "sum", "scope") {
		t.Error("known again after a step of the clock")
	}
	table, c = known(t)
	c.stepped = true
	other := program()
	other.ID.Ino++
	table.Keep(other, other, now, "sum", "scope")
	if table.Unchanged(program(), "sum", "scope") || !table.Unchanged(other, "sum", "scope") {
		t.Error("a hash after the step does not begin anew")
	}
}

// proves A-POL-04
func TestTheTableIsBounded(t *testing.T) {
	table := New(&clock{now: now})
	s := program()
	for range 10 * most {
		s.ID.Ino++
		table.Keep(s, s, now, "sum", "")
		if !table.Unchanged(s, "sum", "") {
			t.Fatal("the newest one is not known")
		}
	}
	if len(table.known) != most {
		t.Errorf("%d programs are remembered", len(table.known))
	}
}
