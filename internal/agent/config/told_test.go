package config

import (
	"regexp"
	"strings"
	"testing"

	"sekisho/internal/agent/config/applied"
)

// A change of the network or of variables is told once: by what is resolved, not by the text of the file as well.
//
// proves A-CFG-03
func TestAChangeIsToldOnce(t *testing.T) {
	w := newWorld(t, "en")
	overlay := strings.TrimSuffix(w.places.Config, ".yaml") + ".local.yaml"
	read := func(text string) applied.Snapshot {
		t.Helper()
		put(t, overlay, "sandbox:\n  environment: "+text+"\n")
		_, r := w.load()
		return r.Snapshot
	}
	const (
		none       = "{A: x}\n  network: {access: none}"
		bare       = "{}\n  network: {access: none}"
		local      = "{A: x}\n  network: {access: local, local_endpoints: [5432, 6379]}"
		other      = "{A: y}\n  network: {access: local, local_endpoints: [5432, 6380]}"
		restricted = "{A: x}\n  network: {access: restricted, restricted_endpoints: [{host: example.org, ports: [443, 80]}]}"
		elsewhere  = "{A: x}\n  network: {access: restricted, restricted_endpoints: [{host: example.net, ports: [443]}]}"
	)
	raw := regexp.MustCompile(`^sandbox\.(environment|network\.(local|restricted)_endpoints(\[.*)?)$`)
	for _, pair := range [][2]string{{none, bare}, {none, local}, {local, other}, {local, restricted}, {restricted, elsewhere}, {restricted, none}} {
		for _, p := range [][2]string{pair, {pair[1], pair[0]}} {
			changes := applied.Diff(read(p[0]), read(p[1]))
			if len(changes) == 0 {
				t.Errorf("%q → %q: no change", p[0], p[1])
			}
			for _, c := range changes {
				if value := c.Old + c.New; raw.MatchString(c.Key) && (strings.ContainsAny(c.Key, "[") || strings.HasPrefix(value, "[") || strings.HasPrefix(value, "{")) {
					t.Errorf("%q → %q: the text of the file is told too: %+v", p[0], p[1], c)
				}
			}
		}
	}
	// What only the text tells is still told.
	put(t, overlay, "sandbox: {network: {access: local, local_endpoints: [5432]}}\n")
	before := func() applied.Snapshot { _, r := w.load(); return r.Snapshot }()
	after := before
	after.Values = map[string]string{}
	for k, v := range before.Values {
		after.Values[k] = v
	}
	after.Values["sandbox.network.local_endpoints"] = "[05432]"
	after.Fingerprint = "other"
	if changes := applied.Diff(before, after); len(changes) != 1 || changes[0].Key != "sandbox.network.local_endpoints" {
		t.Errorf("a difference of the text alone: %+v", changes)
	}
}
