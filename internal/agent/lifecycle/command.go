package lifecycle

import (
	"errors"
	"os"
	"strings"

	"sekisho/internal/agent/config"
	"sekisho/internal/yamltree"
)

// Mistyped explains an argument in the place of a configuration or command that is a word and names no file: more likely a
// command than a path. It is "" for everything else. The sentence is English, because no configuration has been read.
func Mistyped(arg string) string {
	if arg == "" || strings.Trim(strings.ToLower(arg), "abcdefghijklmnopqrstuvwxyz-_") != "" {
		return ""
	}
	if _, err := os.Lstat(arg); !errors.Is(err, os.ErrNotExist) {
		return ""
	}
	sentence := "there is neither a file nor a command " + arg
	if near := nearestCommand(arg); near != "" {
		return sentence + "; did you mean " + near + "?"
	}
	return sentence + "; the commands are apply and show, and without one a server starts"
}

// HelpCommand is the line that prints the help of a program.
func HelpCommand(program string) string { return config.ShellQuote(program) + " --help" }

func nearestCommand(word string) string {
	if w := strings.ToLower(strings.Trim(word, "-")); w == "help" || w == "version" {
		return "--" + w
	}
	return yamltree.Nearest(word, []string{"apply", "show"})
}
