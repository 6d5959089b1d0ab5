//go:build linux

package main

var goModule = map[string]string{
	"go.mod": "module example.org/project\n\ngo 1.25\n",
	"main.go": `package main

import (
	"flag"
	"fmt"
	"net/http"

	"example.org/project/sum"
)

func main() {
	version := flag.Bool("version", false, "")
	flag.Parse()
	if *version {
		fmt.Println("go module", sum.Of(1))
		return
	}
	http.ListenAndServe("127.0.0.1:0", nil)
}
`,
	"sum/sum.go": "// Package sum adds.\npackage sum\n\n// Of adds.\nfunc Of(n ...int) (s int) {\n\tfor _, x := range n {\n\t\ts += x\n\t}\n\treturn s\n}\n",
	"sum/sum_test.go": `package sum

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestOf(t *testing.T) {
	if Of(1, 2, 3) != 6 {
		t.Fatal("wrong")
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	n := 0
	for range 50 {
		all.Go(func() { mu.Lock(); n++; mu.Unlock() })
	}
	all.Wait()
	if err := os.WriteFile(filepath.Join(t.TempDir(), "x"), make([]byte, 1<<20), 0o600); err != nil || n != 50 {
		t.Fatal(err, n)
	}
}
`,
}

var pythonProject = map[string]string{
	"pools.py": `import multiprocessing as mp, concurrent.futures as cf, subprocess, sys, tempfile, threading
from multiprocessing import shared_memory

def square(n):
    return n * n

def put(queue, lock):
    with lock:
        queue.put(1)

if __name__ == "__main__":
    for method in ("fork", "spawn"):
        context = mp.get_context(method)
        with context.Pool(2) as pool:
            assert pool.map(square, range(20)) == [n * n for n in range(20)]
        queue, lock = context.Queue(), context.Lock()
        workers = [context.Process(target=put, args=(queue, lock)) for _ in range(3)]
        for w in workers: w.start()
        assert sum(queue.get(timeout=60) for _ in workers) == 3
        for w in workers: w.join()
        one, two = context.Pipe()
        one.send("x"); assert two.recv() == "x"
    with cf.ProcessPoolExecutor(2) as pool:
        assert list(pool.map(square, range(5))) == [0, 1, 4, 9, 16]
    memory = shared_memory.SharedMemory(create=True, size=1 << 20); memory.buf[0] = 1; memory.close(); memory.unlink()
    with tempfile.TemporaryDirectory() as d:
        subprocess.run([sys.executable, "-c", "open('f','w').write('x')"], cwd=d, check=True)
    print("pools done")
`,
	"test_pools.py": `import multiprocessing, os, pytest

def double(n):
    return 2 * n

@pytest.mark.parametrize("workers", [1, 2])
def test_pool(workers):
    with multiprocessing.Pool(workers) as pool:
        assert pool.map(double, [1, 2]) == [2, 4]

def test_files(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").write_text("x")
    os.chmod(tmp_path / "b", 0)
    assert (tmp_path / "a").is_symlink()
`,
}

var pythonPackage = map[string]string{
	"pkg/pyproject.toml": "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n[project]\nname = \"greeting\"\nversion = \"1.0\"\n[project.scripts]\ngreet = \"greeting:main\"\n",
	"pkg/greeting.py":    "import sys\ndef main():\n    print('greetings from', sys.prefix)\n",
}

var serverProject = map[string]string{
	"server.py": `import http.server, threading, urllib.request
s = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
print("python answers", urllib.request.urlopen("http://127.0.0.1:%d/" % s.server_port).status)
`,
	"server.mjs": `import http from 'node:http';
const s = http.createServer((q, r) => r.end('x')).listen(0, '127.0.0.1', async () => {
  console.log('node answers', (await fetch('http://127.0.0.1:' + s.address().port)).status);
  s.close();
});
`,
}

var nodeProject = map[string]string{
	"workers.mjs": `import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';
if (isMainThread) {
  const shared = new SharedArrayBuffer(4);
  const sums = await Promise.all([1, 2, 3, 4].map(n => new Promise((done, fail) => {
    const w = new Worker(fileURLToPath(import.meta.url), { workerData: { n, shared } });
    w.on('message', done); w.on('error', fail);
  })));
  console.log('workers', sums.reduce((a, b) => a + b), Atomics.load(new Int32Array(shared), 0));
} else {
  Atomics.add(new Int32Array(workerData.shared), 0, workerData.n);
  parentPort.postMessage(workerData.n);
}
`,
	"children.cjs": `const { fork, execFileSync, spawn } = require('node:child_process');
if (process.send) { process.on('message', m => { process.send(m + 1); process.disconnect(); }); return; }
let n = 0;
for (let i = 0; i < 4; i++) {
  const c = fork(__filename);
  c.on('message', () => { if (++n === 4) console.log('children', n); });
  c.send(i);
}
execFileSync('sh', ['-c', 'echo sh']);
require('node:fs').watch('.', () => {}).close();
`,
}

var cProject = map[string]string{
	"Makefile": "CFLAGS = -O2 -Wall -pthread\ncalc: main.o a.o b.o c.o d.o\n\t$(CC) $(CFLAGS) -o $@ $^\ntest: calc\n\ttest \"$$(./calc 2 3)\" = 6\n\t@echo tests passed\n",
	"main.c":   "#include <stdio.h>\n#include <stdlib.h>\n#include <pthread.h>\nint product(int, int);\nstatic void *run(void *p) { return p; }\nint main(int n, char **v) {\n  pthread_t t; void *r;\n  if (n != 3 || pthread_create(&t, 0, run, v) || pthread_join(t, &r) || r != v) return 2;\n  printf(\"%d\\n\", product(atoi(v[1]), atoi(v[2])));\n  return 0;\n}\n",
	"a.c":      "int product(int a, int b) { return a * b; }\n",
	"b.c":      "int b(void) { return 1; }\n",
	"c.c":      "int c(void) { return 2; }\n",
	"d.c":      "int d(void) { return 3; }\n",
}

var longBuild = map[string]string{
	"Makefile": "endless: one two three four\none two three four:\n\t@sh endless-marker.sh $@\n",
	"endless-marker.sh": `trap "" TERM INT HUP
if [ "$1" = one ]; then (setsid sh -c 'trap "" TERM; while :; do sleep 0.02; done' endless-marker &) ; fi
while :; do echo $1 >>running; sleep 0.02; done
`,
}

var breaks = map[string]string{
	"manager.py": "import multiprocessing\nif __name__ == '__main__':\n    multiprocessing.Manager()\n",
}
