//go:build unix

package contract

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	shipped "sekisho/config"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/locale"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/locate"
	"sekisho/test/crashfs"
)

// TestMain lets a link to this test binary stand in for the CLI. It does what the files beside the link say.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "--version" || os.Args[1] == "app-server") {
		os.Exit(fakeCLI(filepath.Dir(os.Args[0])))
	}
	os.Exit(m.Run())
}

func fakeCLI(dir string) int {
	if os.Args[1] == "--version" {
		fmt.Println("codex-cli 9.9.9")
		return 0
	}
	data, err := os.ReadFile(filepath.Join(dir, "bundle"))
	if err != nil {
		return 3
	}
	out := os.Args[slices.Index(os.Args, "--out")+1]
	if os.WriteFile(filepath.Join(os.Getenv("CODEX_HOME"), "rest"), nil, 0o600) != nil || os.Mkdir(filepath.Join(out, "v2"), 0o700) != nil {
		return 71
	}
	if string(data) == "FIFO" {
		if syscall.Mkfifo(filepath.Join(out, bundleFile), 0o600) != nil {
			return 73
		}
		return 0
	}
	if os.WriteFile(filepath.Join(out, bundleFile), data, 0o600) != nil {
		return 72
	}
	return 0
}

// fake installs the stand-in with its bundle ("" for one that fails) and returns its path.
func fake(t testing.TB, bundle []byte) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "codex")
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, data, 0o700); err != nil {
		t.Fatal(err)
	}
	if bundle != nil {
		if err := os.WriteFile(filepath.Join(dir, "bundle"), bundle, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return binary
}

// script installs a stand-in for the generator only, which starts faster than this test binary.
func script(t testing.TB, bundle []byte) string {
	t.Helper()
	dir := t.TempDir()
	text := `#!/bin/sh
for out; do :; done
dir=${0%/*}
printf '%s | %s\n' "$*" "HOME=$HOME CODEX_HOME=$CODEX_HOME TMPDIR=$TMPDIR LANG=$LANG OPENAI_API_KEY=$OPENAI_API_KEY" >>"$dir/calls"
: >"$CODEX_HOME/rest"
/bin/mkdir "$out/v2" && /bin/cp "$dir/bundle" "$out/` + bundleFile + `"
`
	for name, data := range map[string][]byte{"codex": []byte(text), "bundle": bundle} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "codex")
}

func calls(t testing.TB, binary string) []string {
	t.Helper()
	data, _ := os.ReadFile(filepath.Join(filepath.Dir(binary), "calls"))
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
}

// fakeManifest pins the stand-in as the target.
func fakeManifest(t testing.TB, binary string) *Manifest {
	t.Helper()
	m, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	m.Packages = []Package{{Version: codex.Target, Platform: platformName, Role: "contract", BinarySHA256: hex.EncodeToString(sum[:])}}
	return m
}

// proves R-CON-01
func TestManifest(t *testing.T) {
	m, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if m.Target != codex.Target || m.Regression != codex.Regression || len(m.Surfaces) != 2 {
		t.Errorf("%+v", m)
	}
	for _, version := range m.Versions() {
		for _, platform := range []string{"linux-x64", "win32-x64"} {
			p, ok := m.Find(version, platform)
			if !ok || p.Role != "contract" || len(p.SHA256) != 64 || len(p.BinarySHA256) != 64 || !strings.HasPrefix(p.Integrity, "sha512-") || p.Package != "@openai/codex@"+version+"-"+platform {
				t.Errorf("%s %s: %+v", version, platform, p)
			}
		}
	}
	if strings.Join(m.Arguments[codex.Experimental], " ") != "app-server generate-json-schema --experimental" {
		t.Errorf("arguments %v", m.Arguments)
	}
}

// proves R-CON-01, R-CON-02
func TestEnsureGeneratesOnceAndOnlyWhatIsPinned(t *testing.T) {
	binary := script(t, bundle(t, plainTypes))
	m := fakeManifest(t, binary)
	c := OpenCache(fileop.OS(), t.TempDir(), m)
	t.Setenv("OPENAI_API_KEY", "sk-canary")
	t.Setenv("LANG", "C.UTF-8")
	if _, err := c.Schema(codex.Target, codex.Standard); fault.CodeOf(err) != fault.ContractMissing {
		t.Errorf("an empty cache: %v", err)
	}
	for range 2 {
		if _, err := c.Ensure(t.Context(), binary, codex.Target, codex.Experimental); err != nil {
			t.Fatal(err)
		}
	}
	got := calls(t, binary)
	if len(got) != 1 || !strings.HasPrefix(got[0], "app-server generate-json-schema --experimental --out ") {
		t.Fatalf("calls %q", got)
	}
	_, environment, _ := strings.Cut(got[0], " | ")
	for _, e := range strings.Fields(environment) {
		name, value, _ := strings.Cut(e, "=")
		if own := slices.Contains([]string{"HOME", "CODEX_HOME", "TMPDIR"}, name); own != strings.HasPrefix(value, c.root) || !own && value != "" {
			t.Errorf("the generator saw %s", e)
		}
	}
	entries, err := os.ReadDir(c.Path(codex.Target, codex.Experimental))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{bundleFile, sentinelFile, metadataFile, "v2"}; !slices.Equal(names, want) {
		t.Errorf("the surface has %v, want %v", names, want)
	}
	m.Packages[0].BinarySHA256 = strings.Repeat("0", 64)
	if _, err := c.Ensure(t.Context(), binary, codex.Target, codex.Standard); fault.CodeOf(err) != fault.ContractDigest || len(calls(t, binary)) != 1 {
		t.Errorf("another binary: %v, %d calls", err, len(calls(t, binary)))
	}
	if _, err := c.Ensure(t.Context(), binary, "9.9.9", codex.Standard); fault.CodeOf(err) != fault.ContractFailed || len(calls(t, binary)) != 1 {
		t.Errorf("a version that is not pinned: %v", err)
	}
}

// proves R-CON-01
func TestCacheIsValidOnlyIfAllAgrees(t *testing.T) {
	binary := script(t, bundle(t, plainTypes))
	for name, spoil := range map[string]func(*Cache, string) error{
		"nothing":          func(*Cache, string) error { return nil },
		"sentinel missing": func(_ *Cache, dir string) error { return os.Remove(filepath.Join(dir, sentinelFile)) },
		"sentinel of another": func(_ *Cache, dir string) error {
			return os.WriteFile(filepath.Join(dir, sentinelFile), []byte(digest(nil)), 0o600)
		},
		"metadata missing": func(_ *Cache, dir string) error { return os.Remove(filepath.Join(dir, metadataFile)) },
		"metadata changed": func(_ *Cache, dir string) error {
			return os.WriteFile(filepath.Join(dir, metadataFile), []byte(`{}`), 0o600)
		},
		"bundle changed": func(_ *Cache, dir string) error {
			return os.WriteFile(filepath.Join(dir, bundleFile), bundle(t, plainTypes+" "), 0o600)
		},
		"other arguments": func(c *Cache, _ string) error {
			c.manifest.Arguments = map[codex.Surface][]string{codex.Standard: {"app-server", "generate-json-schema", "--more"}}
			return nil
		},
		"other format": func(c *Cache, _ string) error { c.manifest.Format++; return nil },
		"other binary": func(c *Cache, _ string) error { c.manifest.Packages[0].BinarySHA256 = "x"; return nil },
		"other surface": func(c *Cache, dir string) error {
			return os.Rename(dir, c.Path(codex.Target, codex.Experimental))
		},
	} {
		c := OpenCache(fileop.OS(), t.TempDir(), fakeManifest(t, binary))
		if _, err := c.Ensure(t.Context(), binary, codex.Target, codex.Standard); err != nil {
			t.Fatal(err)
		}
		if err := spoil(c, c.Path(codex.Target, codex.Standard)); err != nil {
			t.Fatal(err)
		}
		for _, surface := range []codex.Surface{codex.Standard, codex.Experimental} {
			_, err := c.Schema(codex.Target, surface)
			if valid := name == "nothing" && surface == codex.Standard; valid != (err == nil) {
				t.Errorf("%s: %s is read with %v", name, surface, err)
			}
		}
	}
}

// proves R-CON-01
func TestInterruptedGenerationLeavesAWholeSurfaceOrNone(t *testing.T) {
	binary := script(t, bundle(t, plainTypes))
	m := fakeManifest(t, binary)
	root := t.TempDir()
	if _, err := OpenCache(fileop.OS(), root, m).Ensure(t.Context(), binary, codex.Target, codex.Standard); err != nil {
		t.Fatal(err)
	}
	m.Format++ // what is there is valid no more
	for k := 1; ; k++ {
		fsys := crashfs.New(fileop.OS(), k, nil)
		_, err := OpenCache(fsys, root, m).Ensure(t.Context(), binary, codex.Target, codex.Standard)
		if s, readErr := OpenCache(fileop.OS(), root, m).Schema(codex.Target, codex.Standard); (readErr == nil) != (s != nil) {
			t.Fatalf("after a stop at effect %d: %v", k, readErr)
		}
		if !fsys.Stopped() {
			if err != nil || k < 8 {
				t.Errorf("%d effects, %v", k, err)
			}
			break
		}
		m.Format++ // again from the start
	}
	if _, err := OpenCache(fileop.OS(), root, m).Ensure(t.Context(), binary, codex.Target, codex.Standard); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Join(root, "schemas", codex.Target))
	if err != nil || len(entries) != 2 {
		t.Errorf("beside the surface and the lock there is more: %v, %v", entries, err)
	}
}

// proves R-CON-06, R-CLI-01
func TestContractCommandExitCodes(t *testing.T) {
	english, err := locale.Parse(shipped.English())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, codex string
		exit        int
		out, err    string
	}{
		{"a CLI without our methods", fake(t, bundle(t, plainTypes)), ExitAffected, "Affected: ", ""},
		{"a generator that fails", fake(t, nil), ExitUnknown, "", "could not be generated"},
		{"a bundle that is none", fake(t, []byte(`{}`)), ExitUnknown, "", "could not be generated"},
		{"a bundle that nobody writes", fake(t, []byte("FIFO")), ExitUnknown, "", "not a regular file"},
		{"nothing there", filepath.Join(t.TempDir(), "codex"), ExitUnknown, "", "There is no codex at"},
	} {
		cache := t.TempDir()
		t.Setenv("XDG_CACHE_HOME", cache)
		var stdout, stderr bytes.Buffer
		exit := Command{Codex: test.codex, Texts: locale.New(locale.English, english, english), Stdout: &stdout, Stderr: &stderr}.Run(t.Context())
		if exit != test.exit || !strings.Contains(stdout.String(), test.out) || !strings.Contains(stderr.String(), test.err) || test.err != "" && stdout.Len() > 0 {
			t.Errorf("%s: exit %d, want %d\n%s%s", test.name, exit, test.exit, stdout.String(), stderr.String())
		}
		if left, _ := filepath.Glob(filepath.Join(cache, "sekisho", "judged", ".*")); len(left) > 0 {
			t.Errorf("%s: left %v", test.name, left)
		}
	}
}

// A CLI that says nothing true about itself gets its text escaped.
//
// proves R-INT-08, R-CON-06
func TestReportEscapesWhatTheCLISays(t *testing.T) {
	english, err := locale.Parse(shipped.English())
	if err != nil {
		t.Fatal(err)
	}
	evil := strings.ReplaceAll(string(bundle(t, plainTypes)), "c/done", `c/\u001b[2J\u202edone`)
	r, err := OpenCache(fileop.OS(), t.TempDir(), fakeManifest(t, fake(t, nil))).Judge(t.Context(), locate.Options{Path: fake(t, []byte(evil))})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.Write(&out, locale.New(locale.English, english, english)); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\u202e") || !strings.Contains(out.String(), `c/\x1b[2J\u{202e}done`) {
		t.Errorf("printed %q", out.String())
	}
}

// proves R-CON-06
func TestNothingIsReadAfterTheEndWasAskedFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := readBundle(ctx, t.TempDir(), "codex"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
