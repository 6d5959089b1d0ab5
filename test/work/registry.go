//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"
)

// registry is a small npm registry on loopback: two packages, of which one needs the other and has an install script.
type registry struct {
	listener net.Listener
	server   *http.Server
	packages map[string]*published
}

type published struct {
	manifest map[string]any
	tarball  []byte
}

func serveRegistry() (*registry, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &registry{listener: l, packages: map[string]*published{}}
	r.publish("small-number", nil, map[string]string{"index.js": "module.exports = 41;\n"})
	r.publish("next-number", map[string]any{"dependencies": map[string]any{"small-number": "^1.0.0"}, "bin": map[string]any{"next-number": "cli.js"},
		"scripts": map[string]any{"postinstall": "node -e \"require('fs').writeFileSync('built','by the install script')\""}},
		map[string]string{"index.js": "module.exports = require('small-number') + 1;\n", "cli.js": "#!/usr/bin/env node\nconsole.log(require('./index.js'));\n"})
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go r.server.Serve(l)
	return r, nil
}

func (r *registry) url() string { return "http://" + r.listener.Addr().String() + "/" }
func (r *registry) port() int   { return r.listener.Addr().(*net.TCPAddr).Port }

func (r *registry) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return r.server.Shutdown(ctx)
}

// publish packs version 1.0.0 of a package.
func (r *registry) publish(name string, more map[string]any, files map[string]string) {
	manifest := map[string]any{"name": name, "version": "1.0.0"}
	for k, v := range more {
		manifest[k] = v
	}
	text, _ := json.Marshal(manifest) // of maps and strings only
	all := map[string]string{"package.json": string(text)}
	for k, v := range files {
		all[k] = v
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	t := tar.NewWriter(z)
	for path, content := range all {
		t.WriteHeader(&tar.Header{Name: "package/" + path, Mode: 0o644, Size: int64(len(content))}) // into memory
		t.Write([]byte(content))
	}
	t.Close()
	z.Close()
	r.packages[name] = &published{manifest, packed.Bytes()}
}

// ServeHTTP answers /NAME with the packument and /NAME.tgz with the tarball.
func (r *registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	for name, p := range r.packages {
		switch q.URL.Path {
		case "/" + name + ".tgz":
			w.Write(p.tarball)
			return
		case "/" + name:
			sum := sha512.Sum512(p.tarball)
			version := map[string]any{"dist": map[string]any{"tarball": r.url() + name + ".tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}}
			for k, v := range p.manifest {
				version[k] = v
			}
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(map[string]any{"name": name, "dist-tags": map[string]any{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": version}})
			return
		}
	}
	http.Error(w, fmt.Sprintf("no package %s", q.URL.Path), http.StatusNotFound)
}
