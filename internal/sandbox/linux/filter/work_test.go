//go:build linux

package filter

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// proves A-SBX-07
//
// The allow-list lets ordinary work through: each program does something typical and prints a word. Programs that this
// machine does not have are left out; Go and sh always are here.
func TestOrdinaryWork(t *testing.T) {
	for _, tt := range []struct{ program, script, want string }{
		{"sh", `cd "$D" && mkdir -p a/b && echo hi | tee a/b/f >/dev/null && cp -a a c && mv c/b/f g && ln g h && ln -s g s && find . -name g | xargs cat && rm -r a c && mkfifo p && (cat p & echo word >p; wait)`, "hi word"},
		{"bash", `cd "$D" && diff <(seq 3) <(seq 3) && x=$(seq 5 | sort -r | head -1) && ulimit -n 100 && echo $x $(nproc >/dev/null; ls -l /dev/null | cut -c1)`, "5 c"},
		{"go", `cd "$D" && printf 'module m\ngo 1.26\n' >go.mod && printf 'package m\nimport ("testing";"net/http/httptest";"os/exec")\nfunc TestX(t *testing.T){s:=httptest.NewServer(nil);defer s.Close();if err:=exec.Command("true").Run();err!=nil{t.Fatal(err)}}' >m_test.go && go test ./... | cut -c1-2`, "ok"},
		{"git", `cd "$D" && export GIT_CONFIG_GLOBAL=/dev/null && git init -q r && cd r && echo x >f && git add f && git -c user.name=a -c user.email=a@b commit -qm m && git clone -q . ../r2 && git -C ../r2 gc -q && git -C ../r2 log --format=%s`, "m"},
		{"python3", `cd "$D" && python3 -c 'import subprocess,threading,multiprocessing as m,tempfile,socket,asyncio,shutil,os
async def f(): return (await (await asyncio.create_subprocess_exec("echo","w",stdout=-1)).communicate())[0]
a=asyncio.run(f()); t=threading.Thread(target=print); t.start(); t.join(); r,w=m.Pipe(); p=m.get_context("fork").Process(target=w.send,args=(1,)); p.start(); p.join(); shutil.copy("/etc/hostname",".") ; socket.socket().close(); print(a.decode().strip(), r.recv())'`, "w 1"},
		{"node", `cd "$D" && node -e 'const c=require("child_process");c.execFile("echo",["w"],(e,o)=>console.log(o.trim()));new (require("worker_threads").Worker)("0",{eval:true});require("fs").watch(".").close()'`, "w"},
		{"npm", `cd "$D" && npm init -y >/dev/null 2>&1 && npm pkg get version --offline | tr -d '"'`, "1.0.0"},
		{"gcc", `cd "$D" && printf '#include <stdio.h>\nint main(){puts("w");}' >m.c && gcc -O2 m.c -o m && ./m`, "w"},
		{"make", `cd "$D" && printf 'all: a b\na b:\n\t@echo $@ >$@\n' >Makefile && make -s -j4 && cat a b`, "a b"},
		{"perl", `perl -e 'my $o=qx(echo w); print $o; system("true")==0 or die'`, "w"},
		{"tar", `cd "$D" && echo x >f && tar czf t.tgz f && rm f && tar xzf t.tgz && cat f`, "x"},
	} {
		t.Run(tt.program, func(t *testing.T) {
			if _, err := exec.LookPath(tt.program); err != nil {
				t.Logf("not on this machine: %v", err)
				return
			}
			dir := t.TempDir()
			// A cold cache would compile the standard library for half a minute.
			if cache, err := os.UserCacheDir(); err == nil && os.Getenv("GOCACHE") == "" {
				t.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
			}
			for k, v := range map[string]string{"D": dir, "HOME": dir, "npm_config_cache": filepath.Join(dir, ".npm"), "GOTOOLCHAIN": "local"} {
				t.Setenv(k, v)
			}
			shell := "sh"
			if tt.program == "bash" {
				shell = "bash"
			}
			sh, err := exec.LookPath(shell)
			if err != nil {
				t.Fatal(err)
			}
			out, exceeded, err := run(t, 64, nil, "run", sh, "-c", tt.script)
			if got := strings.Join(strings.Fields(out), " "); err != nil || got != tt.want || exceeded != 0 {
				t.Errorf("got %q, %v, %d reports; want %q", got, err, exceeded, tt.want)
			}
		})
	}
}
