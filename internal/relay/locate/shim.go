package locate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"sekisho/internal/fault"
)

// platform is one row of the shim's own table.
type platform struct{ triple, pkg string }

var platforms = map[string]platform{
	"linux/amd64":   {"x86_64-unknown-linux-musl", "codex-linux-x64"},
	"linux/arm64":   {"aarch64-unknown-linux-musl", "codex-linux-arm64"},
	"darwin/amd64":  {"x86_64-apple-darwin", "codex-darwin-x64"},
	"darwin/arm64":  {"aarch64-apple-darwin", "codex-darwin-arm64"},
	"windows/amd64": {"x86_64-pc-windows-msvc", "codex-win32-x64"},
	"windows/arm64": {"aarch64-pc-windows-msvc", "codex-win32-arm64"},
}

type search struct {
	platform
	path  string
	names []string // names of the command in a directory of PATH, in order
	exe   string
}

func newSearch(o Options) (*search, error) {
	if o.GOOS == "" {
		o.GOOS, o.GOARCH = runtime.GOOS, runtime.GOARCH
	}
	p, ok := platforms[o.GOOS+"/"+o.GOARCH]
	if !ok {
		return nil, fault.New(fault.CodexUnusable, fault.Target("codex"), fault.Arg("reason", "no package for "+o.GOOS+"/"+o.GOARCH))
	}
	s := &search{platform: p, path: o.PATH, names: []string{"codex"}, exe: "codex"}
	if s.path == "" {
		s.path = os.Getenv("PATH")
	}
	if o.GOOS == "windows" {
		// codex without an extension is npm's script for Unix-like shells; cmd.exe runs the others.
		s.names, s.exe = []string{"codex.exe", "codex.cmd", "codex.ps1", "codex"}, "codex.exe"
	}
	return s, nil
}

// maxShim bounds what is read of a script; the real ones are below 10 KiB.
const maxShim = 256 << 10

// resolve turns a file into the binary that it is or leads to.
func (s *search) resolve(path string) (Found, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Found{}, unusable(path, err)
	}
	head, err := readHead(real)
	if err != nil {
		return Found{}, unusable(path, err)
	}
	if native(head) {
		if err := executable(real); err != nil {
			return Found{}, unusable(path, err)
		}
		return Found{Binary: real, PackageVersion: packageVersion(filepath.Join(filepath.Dir(real), "..", "..", ".."))}, nil
	}
	for _, base := range s.packagesOf(path, real, head) {
		if found, ok := s.fromPackage(base); ok {
			found.Via = path
			return found, nil
		}
	}
	if bytes.Contains(head, []byte("@openai")) || filepath.Base(real) == "codex.js" {
		return Found{}, fault.New(fault.CodexNoBinary, fault.Target(path), fault.Arg("package", "@openai/"+s.pkg))
	}
	return Found{}, unusable(path, errors.New("it is a script, and not the one of the npm package @openai/codex"))
}

// named finds the path of codex.js in the text of a shim: npm's sh, cmd and PowerShell scripts and pnpm's and yarn's.
var named = regexp.MustCompile(`[^"'\s=;]*@openai[\\/]codex[\\/]bin[\\/]codex\.js`)

// packagesOf lists directories that may be the package @openai/codex of this shim.
func (s *search) packagesOf(path, real string, text []byte) []string {
	var bases []string
	if filepath.Base(real) == "codex.js" {
		bases = append(bases, filepath.Dir(filepath.Dir(real)))
	}
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(real)} {
		for _, m := range named.FindAllString(string(text), 8) {
			m = strings.ReplaceAll(m, `\`, "/")
			for _, here := range []string{"%~dp0", "%dp0%", "$basedir", "${basedir}", "$PSScriptRoot"} {
				if rest, ok := strings.CutPrefix(m, here); ok {
					m = strings.TrimLeft(rest, "/")
					m = filepath.Join(dir, filepath.FromSlash(m))
					break
				}
			}
			if m = filepath.FromSlash(m); !filepath.IsAbs(m) {
				m = filepath.Join(dir, m)
			}
			bases = append(bases, filepath.Dir(filepath.Dir(m)))
		}
	}
	return bases
}

// fromPackage looks for the binary in, beside and above the package directory base, as require.resolve would.
func (s *search) fromPackage(base string) (Found, bool) {
	if resolved, err := filepath.EvalSymlinks(base); err == nil {
		base = resolved // package managers that link packages keep the platform package beside the link's target
	}
	vendors := []string{filepath.Join(base, "vendor"), filepath.Join(base, "node_modules", "@openai", s.pkg, "vendor"), filepath.Join(filepath.Dir(base), s.pkg, "vendor")}
	for dir := filepath.Dir(base); ; dir = filepath.Dir(dir) {
		vendors = append(vendors, filepath.Join(dir, "node_modules", "@openai", s.pkg, "vendor"))
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for _, vendor := range vendors {
		binary, err := filepath.EvalSymlinks(filepath.Join(vendor, s.triple, "bin", s.exe))
		if err != nil {
			continue
		}
		head, err := readHead(binary)
		if err == nil && native(head) && executable(binary) == nil {
			return Found{Binary: binary, PackageVersion: packageVersion(filepath.Dir(vendor))}, true
		}
	}
	return Found{}, false
}

// native reports whether a file starts as ELF, Mach-O or PE do.
func native(head []byte) bool {
	for _, magic := range []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe", "MZ"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	if runtime.GOOS != "windows" && info.Mode()&0o111 == 0 && filepath.Ext(path) != ".exe" {
		return errors.New("it is not executable")
	}
	return nil
}

func readHead(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a FIFO would wait for a writer
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxShim))
}

// packageVersion is the version in dir's package.json, without the platform suffix; "" if there is none.
func packageVersion(dir string) string {
	data, err := readHead(filepath.Join(dir, "package.json"))
	if err != nil {
		return ""
	}
	var p struct{ Name, Version string }
	if json.Unmarshal(data, &p) != nil || !strings.HasPrefix(p.Name, "@openai/codex") {
		return ""
	}
	for _, pf := range platforms {
		p.Version = strings.TrimSuffix(p.Version, strings.TrimPrefix(pf.pkg, "codex"))
	}
	return p.Version
}
