// Package shipped holds what a release ships beside the executable: the commented agent.yaml and the texts of every
// language. The compiled-in copy is the baseline that the files on disk are checked against, and it speaks before the
// configuration that names those files has been read.
package shipped

import (
	"embed"
	"io/fs"
)

//go:embed agent.yaml locales/*.json
var files embed.FS

// AgentYAML is the shipped configuration.
func AgentYAML() []byte { return read("agent.yaml") }

// English is the shipped locales/en.json, the baseline of every language.
func English() []byte { return read("locales/en.json") }

// Locales is the shipped directory of languages.
func Locales() fs.FS {
	sub, err := fs.Sub(files, "locales")
	if err != nil { // cannot happen: the name is constant and valid
		panic(err)
	}
	return sub
}

func read(name string) []byte {
	data, err := files.ReadFile(name)
	if err != nil { // cannot happen: the build fails without the file
		panic(err)
	}
	return data
}
