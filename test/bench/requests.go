//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// batch is how many requests make one measurement.
const batch = 400

// exchanger is one client of a server, over any transport.
type exchanger interface {
	exchange(method, params string) ([]byte, error)
	stop() error
}

// era is a protocol era: how its requests look.
type era struct {
	name   string
	modern bool
}

var eras = []era{{"initialize", false}, {"2026-07-28", true}}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// params adds what each request of the era carries to an object.
func (e era) params(object string) string {
	if !e.modern {
		return object
	}
	if object == "{}" {
		return "{" + modernMeta + "}"
	}
	return strings.TrimSuffix(object, "}") + "," + modernMeta + "}"
}

// requests compares the two servers' rates on both transports and in both eras. The bare one has the same tools and answers the
// same text, so that frames have the same size.
func (b *bench) requests() error {
	b.columns()
	for _, transport := range []string{"stdio", "http"} {
		for _, e := range eras {
			product, bare, done, err := b.twins(transport, e)
			if err != nil {
				return errors.Join(err, done())
			}
			if err := errors.Join(b.rates(transport+", "+e.name, e, product, bare), done()); err != nil {
				return err
			}
		}
	}
	note("", "(A and B are the time of one request; the ratio is that of the rates)")
	return nil
}

// rates measures one transport and era.
func (b *bench) rates(title string, e era, product, bare exchanger) error {
	for _, r := range []struct{ name, method, params string }{
		{"tools/list", "tools/list", "{}"},
		{"agent_status", "tools/call", unknownTask},
	} {
		params := e.params(r.params)
		for _, x := range []exchanger{product, bare} { // an answer that is an error would be a fast one
			if answer, err := x.exchange(r.method, params); err != nil || !bytes.Contains(answer, []byte(`"result"`)) {
				return fmt.Errorf("%s, %s: %s, %w", title, r.name, answer, err)
			}
		}
		many := func(c exchanger) act {
			return func() error {
				for range batch {
					if _, err := c.exchange(r.method, params); err != nil {
						return err
					}
				}
				return nil
			}
		}
		m, err := b.interleave(b.pairs(21), many(product), many(bare))
		if err != nil {
			return err
		}
		// A rate is the inverse of a time: B : A of the times is A : B of the rates.
		line(title+", "+r.name, "rate", ratios(m.wallB, m.wallA), each(m.wallA), each(m.wallB), len(m.wallA), goal{0.9, true})
	}
	return nil
}

// twins starts both servers. done ends what was started, also after an error.
func (b *bench) twins(transport string, e era) (product, bare exchanger, done func() error, err error) {
	var ends []func() error
	done = func() error {
		var errs []error
		for i := len(ends) - 1; i >= 0; i-- {
			errs = append(errs, ends[i]())
		}
		return errors.Join(errs...)
	}
	s, err := b.newSite(idle)
	if err != nil {
		return nil, nil, done, err
	}
	ends = append(ends, s.close)
	list, text, err := b.twinFiles(s)
	if err != nil {
		return nil, nil, done, err
	}
	program, err := b.bin.Build("test/bench/bare")
	if err != nil {
		return nil, nil, done, err
	}
	argv := []string{program, "-tools", list, "-text", text}
	if transport == "http" {
		if product, err = b.httpProduct(&ends); err != nil {
			return nil, nil, done, err
		}
		port, err := freePort()
		if err != nil {
			return nil, nil, done, err
		}
		twin, err := b.startHTTP(nil, port, append(argv, "-http", address(port))...)
		if err != nil {
			return nil, nil, done, err
		}
		ends = append(ends, twin.stop)
		product.(*httpClient).modern, twin.modern = e.modern, e.modern
		return product, twin, done, nil
	}
	start := b.startClient
	if e.modern {
		start = b.startPlain
	}
	for _, side := range []struct {
		to   *exchanger
		env  []string
		argv []string
	}{{&product, s.env(), []string{s.program, s.config}}, {&bare, nil, argv}} {
		c, err := start(side.env, side.argv...)
		if err != nil {
			return nil, nil, done, err
		}
		*side.to = c
		ends = append(ends, c.stop)
	}
	return product, bare, done, nil
}

// httpProduct starts a product server on a port of its own.
func (b *bench) httpProduct(ends *[]func() error) (*httpClient, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s, err := b.newSiteWith(fmt.Sprintf("mcp: {transport: http, http: {port: %d}}\n", port), idle)
	if err != nil {
		return nil, err
	}
	*ends = append(*ends, s.close)
	c, err := b.startHTTP(s.env(), port, s.program, s.config)
	if err == nil {
		*ends = append(*ends, c.stop)
	}
	return c, err
}

const unknownTask = `{"name":"agent_status","arguments":{"task_id":"7d4448e0-0e05-4b3b-a1d2-b6a7cfb9d0f1"}}`

// twinFiles holds the product's tools and its answer to unknownTask, for the bare server.
func (b *bench) twinFiles(s *site) (list, text string, err error) {
	product, err := s.start()
	if err != nil {
		return "", "", err
	}
	tools, err := product.call("tools/list", "{}")
	if err != nil {
		return "", "", errors.Join(err, product.stop())
	}
	result, err := product.call("tools/call", unknownTask)
	if err := errors.Join(err, product.stop()); err != nil {
		return "", "", err
	}
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 {
		return "", "", errors.Join(errors.New("agent_status answered without one text"), err)
	}
	list, text = filepath.Join(s.dir, "tools.json"), filepath.Join(s.dir, "text")
	return list, text, errors.Join(os.WriteFile(list, tools, 0o644), os.WriteFile(text, []byte(r.Content[0].Text), 0o644))
}

func each(d []time.Duration) time.Duration { return median(d) / batch }
