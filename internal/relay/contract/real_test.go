//go:build realcodex

package contract

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	shipped "sekisho/config"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/locale"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/locate"
)

func install(t testing.TB, version string) string {
	t.Helper()
	cmd := exec.Command("scripts/codex", version)
	cmd.Dir = "../../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("scripts/codex %s: %v", version, err)
	}
	return strings.TrimSpace(string(out))
}

func realCache(t testing.TB) *Cache {
	t.Helper()
	m, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	root, err := CacheRoot()
	if err != nil {
		t.Fatal(err)
	}
	return OpenCache(fileop.OS(), root, m)
}

// proves R-CON-02, R-CON-03, R-CON-05
func TestPinnedContractIsAsRecorded(t *testing.T) {
	o, err := Check(t.Context(), realCache(t), func(v string) (string, error) { return install(t, v), nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range o.Problems {
		t.Error(p)
	}
}

// proves R-CON-06
func TestJudgeRealVersions(t *testing.T) {
	english, err := locale.Parse(shipped.English())
	if err != nil {
		t.Fatal(err)
	}
	texts := locale.New(locale.English, english, english)
	for _, test := range []struct {
		version  string
		affected []string
	}{
		{"0.155.1", nil},
		{"0.159.1", nil},
		{"0.171.0", []string{"item/commandExecution/requestApproval"}},
	} {
		t.Run(test.version, func(t *testing.T) {
			r, err := realCache(t).Judge(context.Background(), locate.Options{Path: install(t, test.version)})
			if err != nil {
				t.Fatal(err)
			}
			if r.Version != test.version {
				t.Errorf("version %s", r.Version)
			}
			var affected []string
			for _, m := range r.Methods {
				if m.Affected {
					affected = append(affected, m.Method)
				}
				if m.State != Same && codex.Pinned(test.version) {
					t.Errorf("%s %s is %s in a pinned version", m.Direction, m.Method, m.State)
				}
			}
			if !slices.Equal(affected, test.affected) {
				t.Errorf("affected %v, want %v", affected, test.affected)
			}
			var out bytes.Buffer
			if err := r.Write(&out, texts); err != nil {
				t.Fatal(err)
			}
			t.Log(out.String())
		})
	}
	if left, _ := filepath.Glob(filepath.Join(realCache(t).root, "judged", ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// proves R-CON-01
func TestOtherBinaryIsNotRun(t *testing.T) {
	c := OpenCache(fileop.OS(), t.TempDir(), realCache(t).manifest)
	_, err := c.Ensure(t.Context(), install(t, "0.155.1"), codex.Target, codex.Standard)
	if fault.CodeOf(err) != fault.ContractDigest {
		t.Errorf("got %v, want contract.digest", err)
	}
}
