package web

import (
	"bytes"
	"io"
	"io/fs"
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
		if file.Name() == "index.html" {
			path = "/"
		}
		resp := e.do(t, request{method: "GET", path: path})
		got, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 200 || !bytes.Equal(got, want) || resp.Header.Get("Content-Type") != assets[path].kind {
			t.Errorf("%s: %d, %d of %d bytes as %q, %v", path, resp.StatusCode, len(got), len(want), resp.Header.Get("Content-Type"), err)
		}
		if got := e.do(t, request{method: "DELETE", path: path}).StatusCode; got != 405 {
			t.Errorf("DELETE %s: %d", path, got)
		}
	}
	for _, path := range []string{"/index.html", "/dist/index.html", "//", "/.", "/%69ndex.html", "/dist", "/..", "/%2e%2e/web.go", "/api"} {
		// A path that is only written otherwise may be answered by a redirect to its clean form, never by content.
		if resp := e.do(t, request{method: "HEAD", path: path}); resp.StatusCode == 200 && path != "//" && path != "/." && path != "/.." {
			t.Errorf("%s is served", path)
		}
	}
}
