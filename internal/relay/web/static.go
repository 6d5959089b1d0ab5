package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"path"
	"regexp"
	"strconv"
)

// dist is what web/ builds (make page). It is committed, so that a build needs no node; make page-check compares.
//
//go:embed dist
var dist embed.FS

// assetTypes are the kinds of files that are served, by the end of their names. A file of another kind is a build that went wrong.
var assetTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// assetDir is where the page expects its files; serve puts a directory of its own in place of it.
const assetDir = "/assets/"

type asset struct {
	kind  string
	data  []byte
	fixed bool // may be kept by the browser: what its path names never changes
}

// files are what is embedded, by name. One that is not known is a build that went wrong: the program does not start.
var files = func() map[string]asset {
	all := map[string]asset{}
	entries, err := dist.ReadDir("dist")
	if err != nil {
		panic("the page is not embedded: " + err.Error())
	}
	for _, e := range entries {
		data, err := dist.ReadFile(path.Join("dist", e.Name()))
		kind, known := assetTypes[path.Ext(e.Name())]
		if err != nil || !known {
			panic("the embedded page is not right: " + e.Name())
		}
		all[e.Name()] = asset{kind: kind, data: data}
	}
	for _, name := range []string{"index.html", "icon.svg", "LICENSES.txt", "page.js", "page.css", "markdown.js"} {
		if _, ok := all[name]; !ok {
			panic("the embedded page is not complete: " + name)
		}
	}
	return all
}()

// bootSum names the script of the page's own text in a content policy: that text, byte for byte, and no other.
var bootSum = func() string {
	found := regexp.MustCompile(`(?s)<script[^>]*>(.*?)</script>`).FindAllSubmatch(files["index.html"].data, -1)
	if len(found) != 1 || bytes.Contains(found[0][1], []byte(assetDir)) { // which is written otherwise when it is served
		panic("the embedded page has not one script in its own text")
	}
	sum := sha256.Sum256(found[0][1])
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}()

// assets by path. Scripts and styles are in a directory whose name nobody can know before this endpoint is there, and the browser
// may keep them: a program that had the port earlier cannot have planted others in the browser's cache under these names. All
// else is asked for each time.
func assets(dir string) map[string]asset {
	out := map[string]asset{}
	for name, a := range files {
		switch path.Ext(name) {
		case ".js", ".css":
			a.fixed = true
			out[dir+name] = a
		default:
			out["/"+name] = a
		}
	}
	page := out["/index.html"]
	delete(out, "/index.html")
	page.data = bytes.ReplaceAll(page.data, []byte(assetDir), []byte(dir))
	out["/"] = page
	return out
}

// static serves one file of the page. It needs no key and holds no data.
func (s *Server) static(a asset) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			s.refuse(w, r, http.StatusMethodNotAllowed, "method")
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(s.o.Now().Add(s.o.Write))
		w.Header().Set("Content-Type", a.kind)
		w.Header().Set("Content-Length", strconv.Itoa(len(a.data)))
		if a.fixed {
			w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
		}
		if r.Method == http.MethodGet {
			_, _ = w.Write(a.data) // the other end went away
		}
	})
}
