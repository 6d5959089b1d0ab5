//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

func locales(sc *scene) {
	s := sc.applied(answering())
	if s == nil {
		return
	}
	s.must("the shipped texts")
	en := s.locales + "/en.json"
	good := s.read(en)
	var texts map[string]string
	if err := json.Unmarshal([]byte(good), &texts); err != nil {
		sc.Block("the shipped texts", "%v", err)
		return
	}
	with := func(key, text string) string {
		changed := map[string]string{}
		for k, v := range texts {
			changed[k] = v
		}
		changed[key] = text
		b, _ := json.Marshal(changed)
		return string(b)
	}
	for name, text := range map[string]string{
		"cut":                 good[:len(good)/2],
		"not an object":       "[]",
		"duplicate key":       strings.Replace(good, "{", `{"error.policy.denied":"x",`, 1),
		"unknown key":         with("no.such.key", "x"),
		"unknown placeholder": with("error.policy.denied", "{nothing_that_exists}"),
	} {
		if err := write(en, text); err != nil {
			sc.Block(name, "%v", err)
			continue
		}
		s.refusedWith(name, "configuration.invalid")
	}
	if err := write(en, good); err != nil {
		sc.Block("the shipped texts", "%v", err)
	}
	s.must("the shipped texts again")
}

func bind(sc *scene) {
	s := sc.applied(answering())
	if s == nil {
		return
	}
	for _, host := range []string{"127.0.0.1", "::1"} {
		if err := errors.Join(write(s.config, s.yaml(fmt.Sprintf("mcp: {http: {host: %q}}\n", host))), s.apply()); err != nil {
			sc.Block(host, "the control: %v", err)
		}
		s.must(host)
	}
	for _, host := range []string{"0.0.0.0", "::", "192.168.0.1", "example.com", "127.0.0.1.example.com"} {
		for _, transport := range []string{"stdio", "http"} {
			record := s.read(s.record())
			if err := write(s.config, s.yaml(fmt.Sprintf("mcp: {transport: %s, http: {host: %q}}\n", transport, host))); err != nil {
				sc.Block(host, "%v", err)
			}
			err := s.apply()
			sc.Check("apply "+host, err != nil && s.read(s.record()) == record, "%v", err)
			s.refusedWith(transport+" on "+host, "configuration.")
		}
	}
}

func store(sc *scene) {
	s := sc.applied(answering())
	if s == nil {
		return
	}
	s.must("the record as applied")
	record := s.record()
	for path, want := range map[string]os.FileMode{record: 0o600, filepath.Dir(record): 0o700, s.dir + "/state/agent-mcp": 0o700} {
		info, err := os.Stat(path)
		sc.Check("mode of "+filepath.Base(path), err == nil && info.Mode().Perm() == want, "%v %v", info, err)
	}
	s.replacedWhole(record)
	good := s.read(record)
	for name, spoil := range map[string]func() error{
		"cut":          func() error { return os.WriteFile(record, []byte(good[:len(good)/2]), 0o600) },
		"empty":        func() error { return os.WriteFile(record, nil, 0o600) },
		"other member": func() error { return os.WriteFile(record, []byte(strings.Replace(good, "{", `{"more":1,`, 1)), 0o600) },
		"for everyone": func() error { return os.Chmod(record, 0o644) },
	} {
		if err := spoil(); err != nil {
			sc.Block(name, "%v", err)
		}
		spoiled := s.read(record)
		s.refusedWith(name, "configuration.not_applied")
		sc.Check(name+": left as it is", s.read(record) == spoiled, "it was changed")
		if err := errors.Join(os.Chmod(record, 0o600), os.WriteFile(record, []byte(good), 0o600)); err != nil {
			sc.Block(name, "%v", err)
		}
	}
	s.must("the record as it was")
}

// replacedWhole applies again and again while a reader looks: it never sees anything but a whole record.
func (s *site) replacedWhole(record string) {
	stop := make(chan struct{})
	var owned sync.WaitGroup
	torn, seen := 0, map[string]bool{}
	owned.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			text := s.read(record)
			seen[text] = true
			if !json.Valid([]byte(text)) {
				torn++
			}
		}
	})
	inodes := map[uint64]bool{}
	for i := range 6 {
		level := []string{"warn", "error"}[i%2]
		if err := errors.Join(write(s.config, s.yaml("logging: {level: "+level+"}\n")), s.apply()); err != nil {
			s.sc.Fail("apply", "%v", err)
		}
		var st syscall.Stat_t
		if err := syscall.Stat(record, &st); err == nil {
			inodes[st.Ino] = true
		}
	}
	close(stop)
	owned.Wait()
	s.sc.Check("replaced whole", torn == 0 && len(seen) >= 2 && len(inodes) >= 2, "%d torn records, %d versions, %d files", torn, len(seen), len(inodes))
	if left, _ := filepath.Glob(filepath.Dir(record) + "/*"); len(left) != 1 {
		s.sc.Fail("leftovers", "%v", left)
	}
}

func changedApproval(sc *scene) {
	for name, change := range map[string]func(s *site) error{
		"fingerprint": func(s *site) error { return write(s.config, s.yaml("logging: {level: warn}\n")) },
		"hash": func(s *site) error {
			f, err := os.OpenFile(s.dir+"/bin/mysh", os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("\x00")
			return errors.Join(err, f.Close())
		},
		"resolved path": func(s *site) error {
			return errors.Join(os.Rename(s.dir+"/bin/mysh", s.dir+"/bin/moved"), os.Remove(s.dir+"/bin/sh"), os.Symlink("moved", s.dir+"/bin/sh"))
		},
		"workspace replaced": func(s *site) error {
			return errors.Join(os.Rename(s.workspace, s.workspace+"-old"), os.Mkdir(s.workspace, 0o755))
		},
	} {
		s := sc.applied(answering())
		if s == nil {
			return
		}
		s.must(name + ": unchanged")
		if err := change(s); err != nil {
			sc.Block(name, "%v", err)
			continue
		}
		record := s.read(s.record())
		s.refusedWith(name, "configuration.changed")
		sc.Check(name+": the record", s.read(s.record()) == record, "a start changed it")
		if err := s.apply(); err != nil {
			sc.Fail(name, "applying again: %v", err)
		}
		s.must(name + ": applied again")
	}
}
