package contract

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
)

// generateLimit is how long a CLI may take for one surface; the real one needs 0.6 s.
const generateLimit = 60 * time.Second

// platformName is this system as npm names it.
var platformName = func() string {
	name := map[string]string{"windows": "win32"}[runtime.GOOS]
	if name == "" {
		name = runtime.GOOS
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	return name + "-" + arch
}()

// generate runs the CLI's generator into dir, which is empty, with a home of its own so that no configuration of the user
// takes part. The home is removed again.
func (c *Cache) generate(ctx context.Context, binary string, arguments []string, dir *os.File) error {
	const home = ".home"
	if err := c.fsys.Mkdir(dir, home, 0o700); err != nil {
		return err
	}
	defer removeTree(c.fsys, dir, home)
	ctx, cancel := context.WithTimeout(ctx, generateLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append(append([]string(nil), arguments...), "--out", dir.Name())...)
	cmd.Dir = dir.Name()
	at := filepath.Join(dir.Name(), home)
	cmd.Env = []string{"HOME=" + at, "CODEX_HOME=" + at, "USERPROFILE=" + at, "TMPDIR=" + at, "TEMP=" + at, "TMP=" + at, "PATH=" + filepath.Dir(binary)}
	if root := os.Getenv("SystemRoot"); root != "" {
		cmd.Env = append(cmd.Env, "SystemRoot="+root) // without it no Windows program starts
	}
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return failed(binary, fmt.Errorf("running the generator: %w", err))
	}
	return nil
}

// removeTree removes what the generator or an interrupted run left in the cache: the user's own files, no links followed.
func removeTree(fsys fileop.FS, parent *os.File, name string) error {
	path := filepath.Join(parent.Name(), name)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fsys.Unlink(parent, name)
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := removeTree(fsys, dir, n); err != nil {
			return err
		}
	}
	return fsys.Rmdir(parent, name)
}

func failed(target string, err error) error {
	reason := err.Error()
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		reason = pe.Op + ": " + pe.Err.Error()
	}
	return fault.New(fault.ContractFailed, fault.Target(target), fault.Arg("reason", reason), fault.Cause(err))
}
