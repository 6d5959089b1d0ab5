package matrix

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/rootio"
)

var attackFileCases = []Case{
	{"AC-1", "a directory whose name begins with a root's name", "denied, by processes and file tools alike", in(development, func(w *world) {
		w.refused(probe{"read", at("read", "EVIL/s"), knows, false}, probe{"write", at("write", "EVIL/s", "new"), is("EVIL/s", "new"), false})
		w.both(func(l *layout) error { return l.write(l.Evil+"/s", l.Secret) })
		w.toolRefused("EVIL/s")
	})},
	{"AC-2", "symbolic link out of the workspace, made inside", "denied", in(development, func(w *world) {
		w.refused(probe{"make and follow", func(l *layout) []string {
			return []string{"exec", "/bin/sh", "-c", "ln -s " + l.S + " " + l.W + "/made; cat " + l.W + "/made"}
		}, knows, false})
		w.toolRefused("W/made")
	})},
	{"AC-3", "chain and cycle of links made inside", "denied; the cycle is an error and no hang", in(development, func(w *world) {
		w.refused(probe{"chain", func(l *layout) []string {
			return []string{"exec", "/bin/sh", "-c", "cd " + l.W + "; ln -s b a; ln -s c b; ln -s " + l.S + " c; ln -s y x; ln -s x y; cat a"}
		}, knows, false})
		o := w.inside(w.real.Payload, "read", w.real.W+"/x")
		w.Check("cycle", o.Errno == "ELOOP", "%v", o)
		for _, name := range []string{"W/a", "W/x"} {
			w.toolRefused(name)
		}
	})},
	{"AC-5", "a directory swapped with a link out of the roots while file tools and programs use it", "0 bytes of the secret, 0 writes outside", in(development, theRace)},
	{"AC-6", "..", "denied", in(development, func(w *world) {
		for _, path := range []string{"W/../outside/secret", "W//..//outside/secret", "W/./../outside/./secret", "W/d/../../outside/secret"} {
			w.refused(probe{path, at("read", path), knows, false})
			w.toolRefused(path)
		}
	})},
	{"AC-7", "file tools outside the roots", "the same verdict as for a process", in(development, func(w *world) {
		// A user who may not read /etc/shadow has no control on it; the other two need no right.
		w.refused(probe{"/etc/shadow", words("read", "/etc/shadow"), reached, true}, probe{"/etc/hostname", words("read", "/proc/../etc/hostname"), reached, true},
			probe{"the parent of the workspace", at("list", "DIR/outside"), func(_ *layout, o output) bool { return contains(o.Detail, "secret") }, false})
		set, err := w.env.Roots(w.policy.Roots)
		if err != nil {
			w.Fail("file tools", "%v", err)
			return
		}
		defer set.Close()
		for _, path := range []string{"/etc/shadow", "/etc/hostname", w.real.S, w.real.dir + "/outside"} {
			target, err := set.Resolve(path, rootio.Existing)
			if err == nil {
				target.Close()
			}
			w.Check("file tools on "+path, err != nil, "it was resolved")
		}
	})},
	{"AC-9", "hard link out of a read-only root", "refused", in(development, func(w *world) {
		w.refused(probe{"link", at("link", "R/f", "W/stolen"), exists("W/stolen"), false})
	})},
	{"AC-10", "rename across roots", "denied", in(development, func(w *world) {
		w.refused(
			probe{"out of a read-only root", at("rename", "R/f", "W/stolen"), exists("W/stolen"), false},
			probe{"into a read-only root", at("rename", "W/f", "R/planted"), exists("R/planted"), false},
			probe{"out of a root without the right to delete", at("rename", "RW/f", "W/taken"), gone("RW/f"), false},
			probe{"into a root with the right to execute", at("rename", "RW/true", "TOOLS/true"), exists("TOOLS/true"), false},
		)
	})},
	{"AC-12", "deleting where only writing is granted", "delete and rename refused; create, append and truncate work", in(development, func(w *world) {
		w.succeeds(writes("RW")...)
		w.refused(deletes("RW")...)
	})},
	{"AC-13", "truncating without the right to write", "refused", in(development, func(w *world) {
		w.refused(probe{"truncate", at("truncate", "R/f", "0"), is("R/f", ""), false}, probe{"open with truncation", at("open-truncate", "R/g"), is("R/g", ""), false})
	})},
	{"AC-14", "chmod, utime and xattr on a read-only root", "refused", in(development, func(w *world) {
		w.refused(
			probe{"chmod", at("chmod", "R/f", "0777"), func(l *layout, _ output) bool {
				info, err := os.Stat(l.R + "/f")
				return err == nil && info.Mode().Perm() == 0o777
			}, false},
			probe{"utime", at("touch", "R/f"), func(l *layout, _ output) bool {
				info, err := os.Stat(l.R + "/f")
				return err == nil && info.ModTime().Unix() == 1
			}, false},
			probe{"xattr", at("setxattr", "R/f", "user.planted", "x"), func(l *layout, _ output) bool {
				n, err := unix.Getxattr(l.R+"/f", "user.planted", nil)
				return err == nil && n == 1
			}, false},
		)
	})},
	{"AC-15", "executing without the right to", "refused", in(development, func(w *world) {
		w.refused(executes("R")...)
		w.refused(executes("RW")...)
	})},
	{"AC-16", "the loader as a way round the right to execute", "the mapping is refused", in(development, func(w *world) {
		for _, root := range []string{"R", "RW"} {
			w.refused(probe{root, at("ldso-exec", loader(), root+"/true"), reached, false})
		}
		w.succeeds(probe{"where execution is granted", at("ldso-exec", loader(), "W/true"), reached, false})
	})},
	{"AC-17", "a program that exists only in memory (memfd)", "runs, and is confined like any other", in(development, func(w *world) {
		w.succeeds(probe{"it runs", at("memfd-exec", "TOOLS/payload", "ids"), reached, false})
		w.refused(probe{"it reads the secret", at("memfd-exec", "TOOLS/payload", "read", "S"), knows, false})
	})},
	{"AC-18", "a setuid copy", "the same user", in(development, func(w *world) {
		make := func(l *layout) error {
			return errors.Join(copyFile(l.Payload, l.W+"/set"), os.Chmod(l.W+"/set", 0o755|os.ModeSetuid|os.ModeSetgid))
		}
		w.both(make)
		plain, set := w.inside(w.real.Payload, "ids"), w.inside(w.real.W+"/set", "ids")
		w.Check("ids", plain.OK && plain.Detail == set.Detail, "%v and %v", plain, set)
		o := w.inside(w.real.Payload, "chmod", w.real.W+"/true", "06755")
		after := w.inside(w.real.W + "/true")
		w.Check("made inside", after.exit.Code == 0, "%v after %v", after, o)
	})},
	{"AC-19", "device nodes", "refused; a FIFO is allowed", in(development, func(w *world) {
		w.refused(probe{"character device", at("mknod", "W/c", "char"), exists("W/c"), true}, probe{"block device", at("mknod", "W/b", "block"), exists("W/b"), true},
			probe{"socket", at("mknod", "W/s", "socket"), exists("W/s"), false})
		w.succeeds(probe{"FIFO", at("mknod", "W/p", "fifo"), exists("W/p"), false})
	})},
	{"AC-25", "open_by_handle_at (Shocker)", "EPERM", in(development, func(w *world) {
		// Only root may use handles at all; for others the same kernel refusal holds outside.
		w.refused(probe{"handle", at("handle", "W"), reached, os.Geteuid() != 0}, probe{"the call itself", func(*layout) []string {
			return []string{"syscall", fmt.Sprint(unix.SYS_NAME_TO_HANDLE_AT), "-100", "buf", "buf", "buf", "0x1000"}
		}, func(_ *layout, o output) bool { return o.Errno != "EPERM" }, false})
	})},
	{"AC-56", "a FIFO planted in the workspace, then read by file tools", "refused at once", in(development, func(w *world) {
		w.both(func(l *layout) error { return unix.Mkfifo(l.W+"/pipe", 0o644) })
		// The control: an ordinary open waits for a writer.
		opened := make(chan error, 1)
		go func() {
			f, err := os.Open(w.twin.W + "/pipe")
			if err == nil {
				f.Close()
			}
			opened <- err
		}()
		hangs := !await(w.ctx, 300*time.Millisecond, func() bool { return len(opened) > 0 })
		if f, err := os.OpenFile(w.twin.W+"/pipe", os.O_RDWR, 0); err == nil {
			<-opened
			f.Close()
		}
		if !hangs {
			w.Block("the FIFO", "an ordinary open does not wait for a writer")
		}
		set, err := w.env.Roots(w.policy.Roots)
		if err != nil {
			w.Fail("file tools", "%v", err)
			return
		}
		defer set.Close()
		begun := time.Now()
		text, err := toolRead(set, w.real.W+"/pipe")
		w.Check("file tools", err != nil && time.Since(begun) < 5*time.Second, "%q %v after %v", text, err, time.Since(begun))
	})},
}

// theRace swaps W/d, a directory, with W/trap, a link to the secret's directory, as fast as it can, while files are read
// and made through W/d. The control resolves first and opens afterwards, as a careless tool does.
func theRace(w *world) {
	w.both(func(l *layout) error {
		return errors.Join(l.write(l.W+"/d/secret", "harmless"), os.Symlink(l.dir+"/outside", l.W+"/trap"))
	})
	set, err := w.env.Roots(w.policy.Roots)
	if err != nil {
		w.Fail("file tools", "%v", err)
		return
	}
	defer set.Close()
	swapping := func(l *layout, play func()) (swaps int) {
		stop, ended := make(chan struct{}), make(chan int)
		go func() {
			n := 0
			for {
				select {
				case <-stop:
					ended <- n
					return
				default:
				}
				if unix.Renameat2(unix.AT_FDCWD, l.W+"/d", unix.AT_FDCWD, l.W+"/trap", unix.RENAME_EXCHANGE) == nil {
					n++
				}
			}
		}()
		play()
		close(stop)
		return <-ended
	}
	leaks, opens := 0, 0
	swapping(w.twin, func() {
		for end := time.Now().Add(w.env.Race); time.Now().Before(end) && leaks == 0; opens++ {
			info, err := os.Lstat(w.twin.W + "/d")
			if err == nil && info.IsDir() && contains(reads(w.twin.W+"/d/secret"), w.twin.Secret) {
				leaks++
			}
		}
	})
	if leaks == 0 {
		w.Block("the race", "the careless control never leaked in %d opens", opens)
	}
	leaks, opens = 0, 0
	reached := 0
	swaps := swapping(w.real, func() {
		for end := time.Now().Add(w.env.Race); time.Now().Before(end); opens++ {
			text, err := toolRead(set, w.real.W+"/d/secret")
			if err == nil && contains(text, w.real.Secret) {
				leaks++
			} else if err == nil {
				reached++
			}
			if t, err := set.Resolve(w.real.W+"/d/new", rootio.MayCreate); err == nil {
				if f, err := t.CreateBeside("planted"); err == nil {
					f.Close()
					t.Discard("planted")
				}
				t.Close()
			}
			if there(w.real.dir + "/outside/planted") {
				leaks++
			}
			if opens%200 == 0 {
				c, err := w.command(w.real.W, w.real.Payload, "read", "secret")
				if err != nil {
					w.Fail("a program", "%v", err)
					return
				}
				c.Dir = w.real.W + "/d"
				if o := w.start(c); contains(o.text, w.real.Secret) {
					leaks++
				}
			}
		}
	})
	w.Check("leaks", leaks == 0, "%d in %d rounds", leaks, opens)
	if swaps < 100 || reached == 0 {
		w.Block("the race", "only %d swaps; %d of %d rounds reached the directory", swaps, reached, opens)
	}
	names, err := os.ReadDir(w.real.dir + "/outside")
	w.Check("writes outside", err == nil && len(names) == 1, "%v %v", names, err)
	w.Check("the secret", strings.TrimSpace(reads(w.real.S)) == w.real.Secret, "it was changed")
}
