package web

import (
	"bytes"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every file of the build is served whole, under its exact path only, to anyone who may ask; and nothing else is.
//
// proves R-UI-01
func TestStaticFiles(t *testing.T) {
	e := start(t, Options{})
	entries, err := fs.ReadDir(dist, "dist")
	if err != nil || len(entries) == 0 {
		t.Fatal(err)
	}
	for _, file := range entries {
		want, err := fs.ReadFile(dist, "dist/"+file.Name())
		if err != nil {
			t.Fatal(err)
		}
		path := "/" + file.Name()
		if ext := filepath.Ext(path); ext == ".js" || ext == ".css" {
			path = e.dir + file.Name()
		}
		if file.Name() == "index.html" {
			path = "/"
		}
		resp := e.do(t, request{method: "GET", path: path})
		got, err := io.ReadAll(resp.Body)
		if name := file.Name(); name == "index.html" {
			want = bytes.ReplaceAll(want, []byte(assetDir), []byte(e.dir))
		}
		kept := "no-store"
		if strings.HasPrefix(path, e.dir) {
			kept = "private, max-age=31536000, immutable"
		}
		if got := resp.Header.Get("Cache-Control"); got != kept {
			t.Errorf("%s: Cache-Control %q", path, got)
		}
		if err != nil || resp.StatusCode != 200 || !bytes.Equal(got, want) || resp.Header.Get("Content-Type") != e.assets[path].kind {
			t.Errorf("%s: %d, %d of %d bytes as %q, %v", path, resp.StatusCode, len(got), len(want), resp.Header.Get("Content-Type"), err)
		}
		if got := e.do(t, request{method: "DELETE", path: path}).StatusCode; got != 405 {
			t.Errorf("DELETE %s: %d", path, got)
		}
	}
	for _, path := range []string{"/index.html", "/dist/index.html", "//", "/.", "/%69ndex.html", "/dist", "/..", "/page.js", "/assets/page.js", "/assets/", strings.TrimSuffix(e.dir, "/"), e.dir, "/%2e%2e/web.go", "/api"} {
		// A path that is only written otherwise may be answered by a redirect to its clean form, never by content.
		if resp := e.do(t, request{method: "HEAD", path: path}); resp.StatusCode == 200 && path != "//" && path != "/." && path != "/.." {
			t.Errorf("%s is served", path)
		}
	}
}

// The browser may keep scripts and styles, so their directory is one that no earlier program on this port can have filled: 256
// bits of this endpoint alone, and everything that the page loads first is in it.
//
// proves R-UI-01
func TestKeptFilesAreOfThisEndpoint(t *testing.T) {
	a, b := start(t, Options{}), start(t, Options{})
	if a.dir == b.dir || !regexp.MustCompile(`^/assets/[A-Za-z0-9_-]{43}/$`).MatchString(a.dir) {
		t.Errorf("%q, %q", a.dir, b.dir)
	}
	if got := a.do(t, request{method: "GET", path: b.dir + "page.js"}).StatusCode; got != 404 {
		t.Errorf("another endpoint's script: %d", got)
	}
	page := string(a.assets["/"].data)
	loaded := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(loaded) < 4 {
		t.Fatalf("the page loads %q", loaded)
	}
	for _, l := range loaded {
		if _, ok := a.assets[l[1]]; !ok || l[1] != "/icon.svg" && !strings.HasPrefix(l[1], a.dir) {
			t.Errorf("the page loads %s", l[1])
		}
	}
}

// What the first screen needs is compiled whole while it arrives; what is read later is not.
func TestFirstScriptsAreCompiledWhole(t *testing.T) {
	const eager = "//# allFunctionsCalledOnLoad\n"
	first := map[string]bool{"page.js": true}
	for _, m := range regexp.MustCompile(`<link rel="modulepreload" href="/assets/([^"]+)">`).FindAllSubmatch(files["index.html"].data, -1) {
		first[string(m[1])] = true
	}
	if len(first) < 2 {
		t.Fatal("the page names none of its parts")
	}
	for name, a := range files {
		if strings.HasSuffix(name, ".js") && bytes.HasPrefix(a.data, []byte(eager)) != first[name] {
			t.Errorf("%s: needed by the first screen: %v", name, first[name])
		}
	}
}
