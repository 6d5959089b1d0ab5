package arch

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// programMagic is how compiled programs begin: ELF, PE, and the forms of Mach-O.
var programMagic = []string{"\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"}

// compiled tells whether data is the beginning of a compiled program.
func compiled(data []byte) bool {
	for _, m := range programMagic {
		if strings.HasPrefix(string(data), m) {
			return true
		}
	}
	return false
}

// The source tree holds no compiled program: nobody can review one. bin and node_modules are what builds make.
func TestNoCompiledPrograms(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	begins := func(path string) []byte {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		head := make([]byte, 4)
		n, err := io.ReadFull(f, head)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		return head[:n]
	}
	if !compiled(begins(self)) {
		t.Fatal("the control, this test's own program, is not recognised")
	}
	top := root(t)
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || path == filepath.Join(top, "bin")):
			return fs.SkipDir
		case !d.Type().IsRegular() || strings.HasSuffix(path, ".test") || !compiled(begins(path)):
			return nil
		}
		t.Errorf("%s is a compiled program", path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
