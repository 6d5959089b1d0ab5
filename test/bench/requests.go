//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// batch is how many requests make one measurement.
const batch = 400

// requests compares the two servers' rates. The bare one has the same tools and answers the same text, so that frames have
// the same size.
func (b *bench) requests() error {
	s, err := b.newSite(idle)
	if err != nil {
		return err
	}
	defer s.close()
	product, err := s.start()
	if err != nil {
		return err
	}
	bare, err := b.bareTwin(s, product)
	if err != nil {
		return errors.Join(err, product.stop())
	}
	b.columns()
	for _, r := range []struct{ name, method, params string }{
		{"tools/list", "tools/list", "{}"},
		{"agent_status", "tools/call", unknownTask},
	} {
		many := func(c *client) act {
			return func() error {
				for range batch {
					if _, err := c.exchange(r.method, r.params); err != nil {
						return err
					}
				}
				return nil
			}
		}
		m, err := b.interleave(b.pairs(21), many(product), many(bare))
		if err != nil {
			return errors.Join(err, product.stop(), bare.stop())
		}
		// A rate is the inverse of a time: B : A of the times is A : B of the rates.
		line(r.name, "rate", ratios(m.wallB, m.wallA), each(m.wallA), each(m.wallB), len(m.wallA), goal{0.9, true})
	}
	note("", "(A and B are the time of one request; the ratio is that of the rates)")
	return errors.Join(product.stop(), bare.stop())
}

const unknownTask = `{"name":"agent_status","arguments":{"task_id":"7d4448e0-0e05-4b3b-a1d2-b6a7cfb9d0f1"}}`

// bareTwin starts the bare server with the tools and the text of the product.
func (b *bench) bareTwin(s *site, product *client) (*client, error) {
	tools, err := product.call("tools/list", "{}")
	if err != nil {
		return nil, err
	}
	result, err := product.call("tools/call", unknownTask)
	if err != nil {
		return nil, err
	}
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 {
		return nil, errors.Join(errors.New("agent_status answered without one text"), err)
	}
	list, text := filepath.Join(s.dir, "tools.json"), filepath.Join(s.dir, "text")
	if err := errors.Join(os.WriteFile(list, tools, 0o644), os.WriteFile(text, []byte(r.Content[0].Text), 0o644)); err != nil {
		return nil, err
	}
	program, err := b.bin.Build("test/bench/bare")
	if err != nil {
		return nil, err
	}
	return b.startClient(nil, program, "-tools", list, "-text", text)
}

func each(d []time.Duration) time.Duration { return median(d) / batch }
