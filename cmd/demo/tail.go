package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// entry is one line of a log, with the time that orders lines of different logs.
type entry struct {
	ts  time.Time
	log string
	raw json.RawMessage
}

// tail reads what was appended to the logs of a run since the last call.
type tail struct {
	dir     string
	offsets map[string]int64
}

func newTail(dir string) *tail { return &tail{dir: dir, offsets: map[string]int64{}} }

// next returns new whole lines of audit.jsonl and llm.jsonl in order of time.
func (t *tail) next() ([]entry, error) {
	var entries []entry
	for _, name := range []string{"audit.jsonl", "llm.jsonl"} {
		data, err := t.read(name)
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(data) {
			var head struct {
				TS time.Time `json:"ts"`
			}
			if err := json.Unmarshal(line, &head); err != nil {
				return nil, err
			}
			entries = append(entries, entry{head.TS, name, bytes.TrimSpace(line)})
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return a.ts.Compare(b.ts) })
	return entries, nil
}

func (t *tail) read(name string) ([]byte, error) {
	f, err := os.Open(filepath.Join(t.dir, name))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(t.offsets[name], io.SeekStart); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	t.offsets[name] += int64(len(whole))
	return whole, nil
}
