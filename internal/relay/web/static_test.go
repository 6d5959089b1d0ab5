package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
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
	var loaded []string
	for _, m := range regexp.MustCompile(`(?:src|href|data-[a-z]+)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		loaded = append(loaded, strings.Fields(m[1])...)
	}
	if len(loaded) < 4 {
		t.Fatalf("the page loads %q", loaded)
	}
	for _, l := range loaded {
		if _, ok := a.assets[l]; !ok || l != "/icon.svg" && !strings.HasPrefix(l, a.dir) {
			t.Errorf("the page loads %s", l)
		}
	}
}

// The page runs one script of its own text, which the policy names by its sum, and that script fetches the module with all that it
// imports at once: no script is fetched by the page's text, before the first question is asked.
//
// proves R-UI-01
func TestTheFirstScriptIsTheOnlyOneInThePagesText(t *testing.T) {
	e := start(t, Options{})
	page := bytes.ReplaceAll(e.assets["/"].data, []byte(e.dir), []byte(assetDir))
	if n := bytes.Count(page, []byte("<script")); n != 1 || regexp.MustCompile(`<link[^>]*preload`).Match(page) {
		t.Fatalf("%d scripts, or one that is read ahead", n)
	}
	own := regexp.MustCompile(`<script data-first="([^"]*)" data-ja="/assets/(ja-[^"]*)">((?s:.*))</script>`).FindSubmatch(page)
	if own == nil {
		t.Fatal("the first script does not say what it fetches")
	}
	sum := sha256.Sum256(own[3])
	policies := strings.Split(e.do(t, request{method: "GET", path: "/"}).Header.Get("Content-Security-Policy"), ",")
	if want := "script-src 'self' 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "';"; len(policies) != 2 || !strings.Contains(policies[0], want) || policies[1] != " script-src 'self' 'unsafe-inline'" {
		t.Errorf("the policies are %q, the script is %s", policies, want)
	}
	if _, ok := files[string(own[2])]; !ok {
		t.Errorf("no file %s", own[2])
	}
	needed, seen := []string{"page.js"}, map[string]bool{}
	for len(needed) > 0 {
		name := needed[0]
		needed = needed[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, m := range regexp.MustCompile(`(?:from|import)"\./([^"]+)"`).FindAllSubmatch(files[name].data, -1) {
			needed = append(needed, string(m[1]))
		}
	}
	named := strings.Fields(strings.ReplaceAll(string(own[1]), assetDir, ""))
	if len(seen) < 2 || len(named) != len(seen) || named[0] != "page.js" {
		t.Errorf("fetched first: %q, needed: %v", named, seen)
	}
	for _, name := range named {
		if !seen[name] {
			t.Errorf("%s is fetched first and not needed", name)
		}
	}
}
