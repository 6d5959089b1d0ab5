//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sekisho/internal/relay/codex"
	"sekisho/test/fakes/responses"
)

// peerVersion is the codex-acp that is compared with. It runs the same codex as relaycodex, by CODEX_PATH.
const peerVersion = "2.6.0"

// bench is one run: its programs and the thread that they show.
type bench struct {
	dir, work          string
	codex, relay, peer string
	thread             string
	home               string // the thread's; every load gets a copy
	deltas             int
	provider           *responses.Server
}

// sample is one load of one side.
type sample struct {
	rate    float64 // deltas a second
	latency float64 // p95 from the model to the front end, seconds
	usual   float64 // the median of the same
	memory  float64 // resident, bytes, thread loaded
	after   float64 // the same after a long answer
}

func main() {
	pairs := flag.Int("pairs", 5, "loads of each side, at least 5")
	turns := flag.Int("turns", 500, "turns of the thread")
	deltas := flag.Int("deltas", 5000, "deltas of the long answer")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, max(5, *pairs), *turns, *deltas); err != nil {
		fmt.Fprintln(os.Stderr, "bench-relay:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, pairs, turns, deltas int) (err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	b := &bench{deltas: deltas}
	if b.dir, err = os.MkdirTemp(cache, "bench-relay-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if b.provider, err = responses.Listen("127.0.0.1:0"); err != nil {
		return err
	}
	defer b.provider.Close()
	if err := b.prepare(ctx, cache, b.provider.URL(), turns); err != nil {
		return err
	}
	sides := []struct {
		name string
		make func() side
	}{{"direct", func() side { return &direct{b: b} }}, {"relaycodex", func() side { return &relayed{b: b} }}, {"codex-acp", func() side { return &acp{b: b} }}}
	samples := map[string][]sample{}
	for n := range pairs {
		for i := range sides { // each goes first as often as the others
			s := sides[(n+i)%len(sides)]
			got, err := b.measure(ctx, s.make())
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			samples[s.name] = append(samples[s.name], got)
		}
	}
	report(samples, pairs, turns, deltas)
	return nil
}

// prepare builds relaycodex, finds codex and codex-acp, and writes the thread.
func (b *bench) prepare(ctx context.Context, cache, provider string, turns int) error {
	out, err := exec.CommandContext(ctx, "scripts/codex", codex.Target).Output()
	if err != nil {
		return fmt.Errorf("scripts/codex: %w", err)
	}
	b.codex = strings.TrimSpace(string(out))
	b.relay = filepath.Join(b.dir, "relaycodex")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-o", b.relay, "./cmd/relaycodex")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building relaycodex: %w", err)
	}
	if b.peer, err = installPeer(ctx, filepath.Join(cache, "sekisho", "codex-acp", peerVersion)); err != nil {
		return err
	}
	b.home, b.work = filepath.Join(b.dir, "home"), filepath.Join(b.dir, "work")
	for _, d := range []string{b.home, b.work} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	if err := responses.Home(b.home, provider, "", b.work); err != nil {
		return err
	}
	d := &direct{b: b}
	if err := d.start(ctx, b.home); err != nil {
		return err
	}
	var started struct{ Thread struct{ ID string } }
	if err := d.l.call(ctx, "thread/start", map[string]any{"cwd": b.work}, &started); err != nil {
		return err
	}
	b.thread = started.Thread.ID
	words := strings.Repeat("some words of an answer ", 55)
	for n := range turns {
		if err := d.prompt(ctx, "SCN text "+strconv.Itoa(n)+" "+words, func(string, time.Time) {}); err != nil {
			return err
		}
	}
	return d.stop()
}

// installPeer installs codex-acp once, without the codex that it would bring along.
func installPeer(ctx context.Context, dir string) (string, error) {
	entry := filepath.Join(dir, "node_modules", "@agentclientprotocol", "codex-acp", "dist", "index.js")
	if _, err := os.Stat(entry); err == nil {
		return entry, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	manifest := fmt.Sprintf(`{"name":"peer","private":true,"dependencies":{"@agentclientprotocol/codex-acp":%q},"overrides":{"@openai/codex":%q}}`, peerVersion, codex.Target)
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(manifest), 0o600); err != nil {
		return "", err
	}
	npm := exec.CommandContext(ctx, "npm", "install", "--silent", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund")
	npm.Dir, npm.Stdout, npm.Stderr = dir, os.Stderr, os.Stderr
	if err := npm.Run(); err != nil {
		return "", fmt.Errorf("installing codex-acp %s: %w", peerVersion, err)
	}
	return entry, nil
}

// measure loads a copy of the thread into one side.
func (b *bench) measure(ctx context.Context, s side) (got sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	home, err := os.MkdirTemp(b.dir, "copy-")
	if err != nil {
		return got, err
	}
	if err := os.CopyFS(filepath.Join(home, "codex"), os.DirFS(b.home)); err != nil {
		return got, err
	}
	if err := s.load(ctx, filepath.Join(home, "codex")); err != nil {
		return got, fmt.Errorf("loading: %w", err)
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if got.memory, err = resident(s.pid()); err != nil {
		return got, err
	}
	if got.usual, got.latency, err = latency(ctx, s); err != nil {
		return got, err
	}
	if got.rate, err = b.rate(ctx, s); err != nil {
		return got, err
	}
	got.after, err = resident(s.pid())
	return got, err
}

// latency is the median and the p95 of the time from the making of a delta by the model to its arrival, at 40 deltas a
// second.
func latency(ctx context.Context, s side) (p50, p95 float64, err error) {
	const n = 240
	var all []float64
	err = s.prompt(ctx, fmt.Sprintf("SCN clock %d 25", n), func(text string, at time.Time) {
		for word := range strings.FieldsSeq(text) {
			if made, err := strconv.ParseInt(word, 10, 64); err == nil {
				all = append(all, at.Sub(time.Unix(0, made)).Seconds())
			}
		}
	})
	if err == nil && len(all) < n*9/10 {
		err = fmt.Errorf("only %d of %d deltas came", len(all), n)
	}
	if err != nil {
		return 0, 0, err
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*95/100], nil
}

// rate is how many deltas a second arrive of an answer that the model gives at once, from the moment at which it is asked.
func (b *bench) rate(ctx context.Context, s side) (float64, error) {
	asked, began := b.provider.Changed(), make(chan time.Time, 1)
	go func() {
		select {
		case <-asked:
			began <- time.Now()
		case <-ctx.Done():
		}
	}()
	var last time.Time
	words := 0
	err := s.prompt(ctx, fmt.Sprintf("SCN flood %d 4", b.deltas), func(text string, at time.Time) {
		last = at
		words += strings.Count(text, "w")
	})
	if err != nil {
		return 0, err
	}
	if words != b.deltas {
		return 0, fmt.Errorf("%d of %d deltas came", words, b.deltas)
	}
	return float64(words) / last.Sub(<-began).Seconds(), nil
}

func resident(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kb * 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmRSS", pid)
}

func median(samples []sample, of func(sample) float64) float64 {
	var all []float64
	for _, s := range samples {
		all = append(all, of(s))
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

func report(samples map[string][]sample, pairs, turns, deltas int) {
	fmt.Printf("medians of %d; thread of %d turns; codex-acp %s and relaycodex with codex %s\n\n", pairs, turns, peerVersion, codex.Target)
	fmt.Println("| | relaycodex : codex-acp | goal | | relaycodex | codex-acp | codex alone |\n| --- | --- | --- | --- | --- | --- | --- |")
	row := func(name string, of func(sample) float64, unit string, scale, base, goal float64, atLeast bool) {
		r, p, d := median(samples["relaycodex"], of), median(samples["codex-acp"], of), median(samples["direct"], of)
		ratio := (r - base) / (p - base)
		verdict, sign := "missed", "≤"
		if atLeast {
			sign = "≥"
		}
		if atLeast && ratio >= goal || !atLeast && ratio <= goal {
			verdict = "met"
		}
		goalText := sign + " " + strconv.FormatFloat(goal, 'f', 1, 64)
		if math.IsNaN(goal) {
			verdict, goalText = "", "–"
		}
		fmt.Printf("| %s | %.2f | %s | %s | %.*f %s | %.*f %s | %.*f %s |\n", name, ratio, goalText, verdict, 1, r*scale, unit, 1, p*scale, unit, 1, d*scale, unit)
	}
	usual, direct := median(samples["direct"], func(s sample) float64 { return s.usual }), median(samples["direct"], func(s sample) float64 { return s.latency })
	row(fmt.Sprintf("throughput of %d deltas", deltas), func(s sample) float64 { return s.rate }, "/s", 1, 0, 1.5, true)
	row("added latency of a delta, p95", func(s sample) float64 { return s.latency }, "ms", 1000, direct, 0.5, false)
	row("added latency of a delta, median", func(s sample) float64 { return s.usual }, "ms", 1000, usual, math.NaN(), false)
	row("memory, thread loaded", func(s sample) float64 { return s.memory }, "MB", 1e-6, 0, 0.3, false)
	row("memory after a long answer", func(s sample) float64 { return s.after }, "MB", 1e-6, 0, math.NaN(), false)
}
