//go:build linux

package linux

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/filter"
	"sekisho/internal/sandbox/linux/initproc"
	"sekisho/internal/sandbox/linux/mounts"
	"sekisho/internal/sandbox/linux/wire"
	"sekisho/internal/sandbox/resolve"
)

// script is one approved script of a policy (A-POL-11), entry or interpreter in between.
type script struct {
	path, sha256 string
	// within tells that a directory root shows the script's place already; else place and rule are the script's own.
	within bool
	rights sandbox.Rights
}

// scripts lists the approved scripts of a policy, each path once.
func scripts(p *sandbox.EffectivePolicy) []script {
	var out []script
	add := func(path, sum string) {
		if slices.ContainsFunc(out, func(s script) bool { return s.path == path }) {
			return
		}
		out = append(out, script{path: path, sha256: sum, rights: sandbox.Read | sandbox.Execute,
			within: slices.ContainsFunc(p.Roots, func(r sandbox.Root) bool { return !r.File && within(r.Path, path) })})
	}
	for _, e := range p.Entries {
		if len(e.Interpreters) == 0 {
			continue
		}
		add(e.Path, e.SHA256)
		for _, in := range e.Interpreters[:len(e.Interpreters)-1] {
			add(in.Path, in.SHA256)
		}
	}
	return out
}

// isScript tells whether a file root of the policy is shown as a private copy.
func (v *view) isScript(path string) bool {
	return slices.ContainsFunc(v.scripts, func(s script) bool { return s.path == path })
}

// shown adds private copies of the approved scripts to a setup, and returns their contents. A script that is not what was
// approved is left out: it does not start, and everything else does.
func (v *view) shown(setup *initproc.Setup) (contents []*os.File, err error) {
	setup.Rules = slices.Clone(setup.Rules)
	for _, s := range v.scripts {
		f, size, err := privateCopy(s)
		if err != nil {
			return contents, err
		}
		if f == nil {
			continue
		}
		setup.Layout.Binds = append(setup.Layout.Binds, wire.Bind{Target: s.path, FD: setup.Passed, File: true, Copy: true, Size: size, Make: !s.within,
			Attr: mounts.Base | mounts.ReadOnly})
		if !s.within {
			setup.Rules = append(setup.Rules, filter.PathRule{Path: s.path, Rights: s.rights, File: true})
		}
		setup.Passed++
		contents = append(contents, f)
	}
	return contents, nil
}

// privateCopy returns the approved bytes in a sealed memory file, or nil when the script is not what was approved.
func privateCopy(s script) (*os.File, int64, error) {
	found, err := resolve.OnHost(s.path)
	if err != nil {
		return nil, 0, nil // gone, or no file any more
	}
	defer found.File.Close()
	if found.Path != s.path {
		return nil, 0, nil
	}
	fd, err := unix.MemfdCreate("approved script", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, 0, fmt.Errorf("making the private copy of %s: %w", s.path, err)
	}
	f := os.NewFile(uintptr(fd), s.path)
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(found.File, resolve.MaxScript+1))
	if err == nil && (n > resolve.MaxScript || hex.EncodeToString(h.Sum(nil)) != s.sha256) {
		f.Close()
		return nil, 0, nil
	}
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("making the private copy of %s: %w", s.path, err)
	}
	return f, n, nil
}
