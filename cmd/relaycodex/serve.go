package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/locale"
	"sekisho/internal/relay/desktop"
	"sekisho/internal/relay/instance"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/relay/web"
	"sekisho/internal/relay/worker"
)

type serveOptions struct {
	profile, listen string
	open            bool
}

// backend is the worker as the endpoint sees it.
type backend struct{ *worker.Worker }

func (b backend) Attach(lastEventID string) web.Stream { return b.Worker.Attach(lastEventID) }

// serve runs worker and page until ctx ends. Standard output gets the page address, nothing else.
func serve(ctx context.Context, texts *locale.Catalogue, o serveOptions) int {
	profiles, code := load(texts, o.profile)
	if code != exitOK {
		return code
	}
	root, err := instance.Root(os.Getenv)
	if err != nil {
		return failed(texts, err)
	}
	i, err := instance.Open(ctx, fileop.OS(), root)
	if err != nil {
		return failed(texts, err)
	}
	err = serveAs(ctx, i, texts, profiles, o)
	if err = errors.Join(err, i.Close()); err != nil {
		return failed(texts, err)
	}
	return exitOK
}

func serveAs(ctx context.Context, i *instance.Instance, texts *locale.Catalogue, profiles profile.Set, o serveOptions) (err error) {
	log := i.Log()
	log.Info("starting", "version", version)
	w := worker.New(ctx, worker.Options{Profiles: profiles, Instance: i.ID(), Relay: version, Texts: texts, Log: log})
	defer w.Close()
	endpoint, err := web.Listen(ctx, o.listen, web.Options{Backend: backend{w}, Texts: texts, Log: log})
	if err != nil {
		return err
	}
	defer func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, endpoint.Close(limited))
	}()
	if err := i.Publish(ctx, endpoint.Addr().Port(), endpoint.Address); err != nil {
		return err
	}
	address := endpoint.Address()
	fmt.Println(address)
	if o.open {
		if err := openPage(ctx, i, endpoint.Address()); err != nil {
			fmt.Fprintln(os.Stderr, "relaycodex:", err)
		}
	}
	first := uicontract.Command{Version: uicontract.Version, Operation: "start", Kind: uicontract.CmdConnect}
	if r := w.Execute(ctx, first, &uicontract.Connect{}); r.Problem != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "%s\n%s\n[%s]\n", r.Problem.Text, r.Problem.Remedy, r.Problem.Code)
	}
	<-ctx.Done()
	log.Info("stopping")
	return nil
}

// openPage starts the person's browser with a file that leads to the page; the address is no argument of a process.
func openPage(ctx context.Context, i *instance.Instance, address string) error {
	content, err := desktop.Redirect(address)
	if err != nil {
		return err
	}
	path, err := i.WriteOpen(content)
	if err != nil {
		return err
	}
	return desktop.OpenFile(ctx, path)
}

// load reads the profiles and selects one.
func load(texts *locale.Catalogue, name string) (profile.Set, int) {
	path, err := profile.Path(os.Getenv)
	if err != nil {
		return profile.Set{}, failed(texts, err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		return profile.Set{}, failed(texts, err)
	}
	set, problems, err := profile.Load(path, cwd)
	if err != nil {
		_ = problems.Write(os.Stderr, texts)
		return set, failed(texts, err)
	}
	if name != "" {
		if _, ok := set.Find(name); !ok {
			return set, failed(texts, fault.New(fault.RelayCommand, fault.Variant("profile"), fault.Arg("profile", name)))
		}
		set.Selected = name
	}
	return set, exitOK
}
