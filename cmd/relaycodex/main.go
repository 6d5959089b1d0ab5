// Command relaycodex is a careful client of codex app-server: a worker with a page on loopback (R-CLI-01).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"sekisho/config"
	"sekisho/internal/fault"
	"sekisho/internal/locale"
	"sekisho/internal/relay"
	"sekisho/internal/relay/contract"
	"sekisho/internal/relay/instance"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/web"
)

// version is set when a release is built.
var version = "0.1.0-dev"

// Exit codes; contract has its own.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

const usage = `relaycodex is a careful client of codex app-server. It starts one on this machine, or connects
to one that already runs elsewhere, and shows it on a page in your browser.

Usage:
  relaycodex [--profile NAME] [--listen 127.0.0.1:PORT] [--no-open]
                                     run the worker and its page until interrupted
  relaycodex url [--instance ID] [--thread ID]
                                     print a fresh page address of a running relaycodex; it shows that thread
  relaycodex contract [--codex PATH] tell how a codex (of PATH, or this one) differs from the one this
                                     program knows
  relaycodex --help | --version

Profiles are read from profiles.yaml in the relaycodex directory of your configuration directory;
without the file there is one: codex from PATH, in the current directory. A local profile names another
program by the key codex: PATH, and another directory by local_root: PATH.

Exit codes: 0 done, 1 failed, 2 wrong usage; contract: 0 not affected, 1 affected, 2 cannot tell.
`

func main() {
	if transport.SuperviseChild() {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once; its supervisor ends the child
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run chooses the command.
func run(ctx context.Context, args []string) int {
	texts := language(os.Getenv)
	name := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	f := flag.NewFlagSet("relaycodex", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	var profileName, listen, id, thread, codex string
	var noOpen, showVersion bool
	switch name {
	case "":
		f.StringVar(&profileName, "profile", "", "")
		f.StringVar(&listen, "listen", "127.0.0.1:0", "")
		f.BoolVar(&noOpen, "no-open", false, "")
		f.BoolVar(&showVersion, "version", false, "")
	case "url":
		f.StringVar(&id, "instance", "", "")
		f.StringVar(&thread, "thread", "", "")
	case "contract":
		f.StringVar(&codex, "codex", "", "")
	default:
		return misused("there is no command " + name)
	}
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
		return exitOK
	case err != nil:
		return misused(err.Error())
	case f.NArg() > 0:
		return misused("too many arguments")
	}
	switch {
	case showVersion:
		fmt.Println("relaycodex " + version)
		return exitOK
	case name == "contract":
		return contract.Command{Codex: codex, Texts: texts, Stdout: os.Stdout, Stderr: os.Stderr}.Run(ctx)
	case name == "url":
		return printURL(ctx, texts, id, thread)
	}
	return serve(ctx, texts, serveOptions{profile: profileName, listen: listen, open: !noOpen})
}

// printURL prints the address, or with several running and none chosen their ids.
func printURL(ctx context.Context, texts *locale.Catalogue, id, thread string) int {
	fragment, err := web.ThreadFragment(relay.ThreadID(thread))
	if err != nil {
		return misused(err.Error())
	}
	root, err := instance.Root(os.Getenv)
	if err != nil {
		return failed(texts, err)
	}
	address, ids, err := instance.URL(ctx, root, id)
	if err != nil {
		for _, other := range ids {
			fmt.Fprintln(os.Stderr, "  "+other)
		}
		return failed(texts, err)
	}
	fmt.Println(address + fragment)
	return exitOK
}

// language chooses the texts by the environment, English unless it asks for one that there is.
func language(env func(string) string) *locale.Catalogue {
	english, err := locale.Parse(shipped.English())
	if err != nil { // cannot happen: a test reads it
		panic(err)
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := env(name); v != "" {
			code, _, _ := strings.Cut(strings.ReplaceAll(v, ".", "_"), "_")
			if texts, _, err := locale.Load(shipped.Locales(), english, code); err == nil {
				return texts
			}
			break
		}
	}
	return locale.New(locale.English, english, english)
}

func misused(what string) int {
	fmt.Fprintf(os.Stderr, "relaycodex: %s\nTry 'relaycodex --help'.\n", what)
	return exitUsage
}

func failed(texts *locale.Catalogue, err error) int {
	if f := fault.As(err); f != nil {
		sentence, remedy := texts.Error(f)
		fmt.Fprintf(os.Stderr, "%s\n%s\n[%s]\n", sentence, remedy, f.Code)
		return exitFailure
	}
	fmt.Fprintln(os.Stderr, "relaycodex:", err)
	return exitFailure
}
