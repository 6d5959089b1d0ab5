//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every page's files have the shape that their client publishes. make clients uses them.
func TestPagesHaveTheirClientsShape(t *testing.T) {
	dir := filepath.Join("..", "..", pagesDir)
	files, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, f := range files {
		if page := strings.TrimSuffix(filepath.Base(f), ".md"); page != "README" {
			pages = append(pages, page)
		}
	}
	if want := []string{"claude-code", "claude-desktop", "codex", "cursor", "vscode", "zed"}; !slices.Equal(pages, want) {
		t.Fatalf("pages %v, want %v", pages, want)
	}
	index, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if !strings.Contains(string(index), "("+page+".md)") {
			t.Errorf("the index does not name %s", page)
		}
		all, err := blocks(dir, page)
		if err != nil {
			t.Error(err)
			continue
		}
		want := 2
		if page == "claude-desktop" {
			want = 1
		}
		if len(all) != want || all[0].HTTP || want == 2 && !all[1].HTTP {
			t.Errorf("%s has %d blocks: %+v", page, len(all), all)
		}
		for _, b := range all {
			if page == "codex" { // the CLI reads it in make clients
				if b.Language != "toml" || !strings.HasPrefix(b.Text, "[mcp_servers.agent]\n") {
					t.Errorf("%+v", b)
				}
				continue
			}
			e, err := shapes[page].entry(b.Text)
			if err != nil || b.Language != "json" {
				t.Errorf("%s: %v\n%s", page, err, b.Text)
				continue
			}
			if b.HTTP != (e.URL != nil) || !b.HTTP && (*e.Command != pageProgram || !slices.Equal(e.Args, []string{pageConfig})) {
				t.Errorf("%s: %+v", page, e)
			}
		}
	}
}

func TestShapesRefuse(t *testing.T) {
	for text, page := range map[string]string{
		`{"mcpServers":{"agent":{"command":"x","arg":[]}}}`:                        "cursor",
		`{"servers":{"agent":{"command":"x"}}}`:                                    "vscode", // no type
		`{"servers":{"agent":{"type":"http","command":"x"}}}`:                      "vscode",
		`{"mcpServers":{"agent":{"type":"stdio","command":"x"}}}`:                  "vscode",
		`{"mcpServers":{"agent":{"url":"http://127.0.0.1/mcp"}}}`:                  "claude-desktop",
		`{"mcpServers":{"agent":{"url":"u","command":"x"}}}`:                       "cursor",
		`{"mcpServers":{"agent":{"url":"u"}}}`:                                     "claude-code", // no type
		`{"context_servers":{"agent":{"type":"stdio","command":"x"}}}`:             "zed",
		`{"context_servers":{"agent":{"command":{"path":"x","args":[]}}}}`:         "zed", // the older shape
		`{"mcpServers":{"agent":{"command":"x"}},"mcpServers":{"agent":{}}}`:       "cursor",
		`{"mcpServers":{"agent":{"command":"x"},"other":{"command":"y"}}}`:         "cursor",
		`{"mcpServers":{"agent":{"command":"x"}},"inputs":{}}`:                     "claude-desktop",
		`{"mcpServers":{"agent":{"command":"x","headers":{"Authorization":"b"}}}}`: "cursor",
	} {
		if e, err := shapes[page].entry(text); err == nil {
			t.Errorf("%s: %s is accepted: %+v", page, text, e)
		}
	}
}
