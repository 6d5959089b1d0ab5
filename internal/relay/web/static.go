package web

import (
	"embed"
	"net/http"
	"path"
	"strconv"
)

// dist is what web/ builds (make page). It is committed, so that a build needs no node; make page-check compares.
//
//go:embed dist
var dist embed.FS

// assetTypes are the files that are served, with their types. Nothing else of dist is.
var assetTypes = map[string]string{
	"index.html":   "text/html; charset=utf-8",
	"page.js":      "text/javascript; charset=utf-8",
	"markdown.js":  "text/javascript; charset=utf-8",
	"page.css":     "text/css; charset=utf-8",
	"icon.svg":     "image/svg+xml",
	"LICENSES.txt": "text/plain; charset=utf-8",
}

type asset struct {
	kind string
	data []byte
}

// assets by path. A file that is not there is a build that went wrong: the program does not start.
var assets = func() map[string]asset {
	files := map[string]asset{}
	for name, kind := range assetTypes {
		data, err := dist.ReadFile(path.Join("dist", name))
		if err != nil {
			panic("the embedded page is not complete: " + name)
		}
		files["/"+name] = asset{kind, data}
	}
	files["/"] = files["/index.html"]
	delete(files, "/index.html")
	return files
}()

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
		if r.Method == http.MethodGet {
			_, _ = w.Write(a.data) // the other end went away
		}
	})
}
