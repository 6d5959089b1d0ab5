//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// pagesDir is where the pages are, from the root of the repository.
const pagesDir = "docs/clients"

// What the pages have in the place of a reader's own values.
const (
	pageProgram = "/home/me/bin/agent-mcp"
	pageConfig  = "/home/me/.config/agent-mcp/agent.yaml"
	pageURL     = "http://127.0.0.1:8080/mcp"
)

// block is one fenced block of a page: a whole configuration file.
type block struct {
	Language, File string
	Text           string
	HTTP           bool // names a URL, else a program
}

var fence = regexp.MustCompile("(?ms)^```([a-z]+) (\\S+)\n(.*?)^```$")

// blocks returns the configuration files of a page.
func blocks(dir, page string) ([]block, error) {
	data, err := os.ReadFile(filepath.Join(dir, page+".md"))
	if err != nil {
		return nil, err
	}
	var found []block
	for _, m := range fence.FindAllStringSubmatch(string(data), -1) {
		b := block{Language: m[1], File: m[2], Text: m[3], HTTP: strings.Contains(m[3], pageURL)}
		if !b.HTTP && !(strings.Contains(b.Text, pageProgram) && strings.Contains(b.Text, pageConfig)) {
			return nil, fmt.Errorf("%s: a block names neither %s with %s nor %s", page, pageProgram, pageConfig, pageURL)
		}
		found = append(found, b)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no configuration file", page)
	}
	return found, nil
}

// pageBlock is the block of a page for a transport, with the stage's own values put in.
func (s *stage) pageBlock(page, transport string) (block, error) {
	all, err := blocks(pagesDir, page)
	if err != nil {
		return block{}, err
	}
	for _, b := range all {
		if b.HTTP == (transport == "http") {
			b.Text = strings.NewReplacer(pageProgram, s.stdio.Program, pageConfig, s.stdio.Config, pageURL, s.url).Replace(b.Text)
			return b, nil
		}
	}
	return block{}, errors.New(page + " has no block for " + transport)
}
