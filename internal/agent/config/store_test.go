package config

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
)

// proves A-CFG-04, A-CFG-05, ST-23
func TestCorruptRecordIsRefusedAndLeftAlone(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(data []byte, path string) []byte
	}{
		{"empty", func([]byte, string) []byte { return nil }},
		{"cut", func(d []byte, _ string) []byte { return d[:len(d)/2] }},
		{"unknown member", func(d []byte, _ string) []byte { return bytes.Replace(d, []byte("{"), []byte(`{"x":1,`), 1) }},
		{"other schema", func(d []byte, _ string) []byte {
			return bytes.Replace(d, []byte(`"schema_version":2`), []byte(`"schema_version":1`), 1)
		}},
		{"short hash", func(d []byte, _ string) []byte {
			return bytes.Replace(d, []byte(hashOf("program one")), []byte("abc"), 1)
		}},
		{"upper-case hash", func(d []byte, _ string) []byte {
			return bytes.Replace(d, []byte(hashOf("program one")), []byte(strings.ToUpper(hashOf("program one"))), 1)
		}},
		{"relative path", func(d []byte, _ string) []byte {
			return regexp.MustCompile(`"resolved":"/`).ReplaceAll(d, []byte(`"resolved":"`))
		}},
		{"unknown access", func(d []byte, _ string) []byte {
			return bytes.Replace(d, []byte(`"read_only"`), []byte(`"execute"`), 2)
		}},
		{"no values", func(d []byte, _ string) []byte {
			return regexp.MustCompile(`"values":\{[^}]*\}`).ReplaceAll(d, []byte(`"values":{}`))
		}},
		{"alias twice", func(d []byte, _ string) []byte { return bytes.Replace(d, []byte(`"Shell"`), []byte(`"TOOL"`), 2) }},
		{"another configuration's", func(d []byte, _ string) []byte {
			return bytes.Replace(d, []byte(`conf/agent.yaml`), []byte(`conf/other.yaml`), 1)
		}},
		{"writable by the group", func(d []byte, path string) []byte {
			if err := os.Chmod(path, 0o620); err != nil {
				panic(err)
			}
			return d
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, "en")
			if _, err := w.apply("--yes"); err != nil {
				t.Fatal(err)
			}
			path := w.store.Path(w.places.Config)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			damaged := tt.damage(w.stored(), path)
			if err := os.WriteFile(path, damaged, info.Mode()); err != nil {
				t.Fatal(err)
			}
			want := fault.New(fault.ConfigurationAbsent, fault.Variant("corrupt"))
			_, r := w.load()
			if err := w.store.Compare(r.Snapshot); !errors.Is(err, want) {
				t.Errorf("start: %v", err)
			}
			if _, err := w.apply("--yes"); !errors.Is(err, want) {
				t.Errorf("apply: %v", err)
			}
			if _, err := w.show(); !errors.Is(err, want) {
				t.Errorf("show: %v", err)
			}
			if !bytes.Equal(w.stored(), damaged) {
				t.Error("the record was repaired")
			}
		})
	}
}

// failing is an FS whose n-th effect fails.
type failing struct {
	fileop.FS
	left int
}

var errInjected = errors.New("injected")

func (f *failing) step() error {
	if f.left--; f.left < 0 {
		return errInjected
	}
	return nil
}

func (f *failing) Create(dir *os.File, name string, perm os.FileMode) (*os.File, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	return f.FS.Create(dir, name, perm)
}

func (f *failing) Write(file *os.File, p []byte) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.Write(file, p)
}

func (f *failing) Sync(file *os.File) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.Sync(file)
}

func (f *failing) Rename(a *os.File, an string, b *os.File, bn string, replace bool) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.Rename(a, an, b, bn, replace)
}

// proves A-CFG-03, ST-23
func TestSnapshotIsReplacedWholeOrNotAtAll(t *testing.T) {
	w := newWorld(t, "en")
	if _, err := w.apply("--yes"); err != nil {
		t.Fatal(err)
	}
	old := w.stored()
	w.edit("[../ws]", "[../ws, ../elsewhere]")
	l, r := w.load()
	for n := 0; ; n++ {
		fsys := &failing{FS: fileop.OS(), left: n}
		err := Apply(context.Background(), l, r, w.places.Store(fsys), UI{Out: io.Discard, Yes: true})
		now := w.stored()
		if err == nil {
			if bytes.Equal(now, old) {
				t.Error("applied, but the old record is there")
			}
			if n < 3 {
				t.Errorf("only %d effects were tried", n)
			}
			break
		}
		if !bytes.Equal(now, old) {
			if _, derr := w.store.Read(w.places.Config); derr != nil {
				t.Fatalf("after a failure of effect %d: %v", n, derr)
			}
		}
	}
	entries, err := os.ReadDir(filepath.Dir(w.store.Path(w.places.Config)))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("failed attempts left files: %v", entries)
	}
}
