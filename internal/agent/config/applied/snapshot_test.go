package applied

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/strictjson"
)

var ignoreID = cmp.Options{cmpopts.IgnoreFields(EntryResolution{}, "Object"), cmpopts.IgnoreFields(InterpreterResolution{}, "Object")}

func genSnapshot(t *rapid.T) Snapshot {
	letter := rapid.SampledFrom([]string{"a", "b", "c"})
	declared := rapid.SampledFrom([]string{"", "/l/a", "/l/b"})
	dir := rapid.Custom(func(t *rapid.T) Resolution {
		return Resolution{Logical: letter.Draw(t, "logical"), Declared: declared.Draw(t, "declared"), Resolved: "/" + letter.Draw(t, "resolved"),
			ID: sandbox.FileID{Dev: 1, Ino: rapid.Uint64Range(1<<53, 1<<53+3).Draw(t, "inode")}, Filesystem: "xfs"}
	})
	s := Snapshot{SchemaVersion: Schema, ConfigPath: "/c", Fingerprint: hashOf(letter.Draw(t, "fingerprint")),
		Values:     map[string]string{"schema_version": "2", "sandbox.workspaces": letter.Draw(t, "written"), "ollama.model": letter.Draw(t, "model")},
		Profile:    rapid.SampledFrom([]string{policy.ProfileReadonly, policy.ProfileDevelopment}).Draw(t, "profile"),
		Workspaces: rapid.SliceOfN(dir, 0, 3).Draw(t, "workspaces"),
		Network:    sandbox.NetworkPolicy{Access: sandbox.NetworkNone},
		Resources: sandbox.ResourcePolicy{Profile: "normal", MemoryMB: rapid.IntRange(1, 2).Draw(t, "memory"), ProcessLimit: 1,
			TimeoutSeconds: 1, Cgroup: "auto"}, TempMB: rapid.IntRange(1, 2).Draw(t, "temp"), HomeMB: 1}
	for range rapid.IntRange(0, 2).Draw(t, "mounts") {
		s.Mounts = append(s.Mounts, MountResolution{dir.Draw(t, "mount"), rapid.SampledFrom(MountAccesses).Draw(t, "access")})
	}
	for _, alias := range rapid.SliceOfNDistinct(letter, 0, 3, rapid.ID).Draw(t, "aliases") {
		e := EntryResolution{Alias: alias, Class: sandbox.ClassEntry, Logical: letter.Draw(t, "logical"), Declared: declared.Draw(t, "declared"), Resolved: "/" + letter.Draw(t, "resolved"),
			SHA256: hashOf(letter.Draw(t, "hash")), Filesystem: "xfs"}
		if rapid.Bool().Draw(t, "script") {
			e.Interpreters = []InterpreterResolution{{Interpreter: sandbox.Interpreter{Name: "x", Path: "/" + letter.Draw(t, "interpreter"), Found: "/x", SHA256: hashOf(letter.Draw(t, "interpreter hash"))}, Filesystem: "xfs"}}
		}
		if rapid.Bool().Draw(t, "variables") {
			e.Environment = map[string]string{letter.Draw(t, "variable"): letter.Draw(t, "value")}
		}
		if rapid.Bool().Draw(t, "runtime") {
			r := dir.Draw(t, "runtime root")
			e.RuntimeRoot = &r
		}
		s.Entries = append(s.Entries, e)
	}
	s.Normalize()
	return s
}

// proves A-CFG-05
func TestDiffIsEmptyExactlyForEqualSnapshots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genSnapshot(t), genSnapshot(t)
		if rapid.Bool().Draw(t, "equal") {
			b = a
		}
		b.Fingerprint = a.Fingerprint // a changed YAML shows anyway; here the world changed
		equal := cmp.Equal(a, b, ignoreID)
		if got := len(Diff(a, b)) == 0; got != equal {
			t.Fatalf("equal %v, but the differences are %v\n%s", equal, Diff(a, b), cmp.Diff(a, b, ignoreID))
		}
	})
}

// proves A-CFG-03
func TestSnapshotSurvivesTheDisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSnapshot(t)
		data, err := strictjson.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeSnapshot(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(s, got, ignoreID); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzDecodeSnapshot(f *testing.F) {
	f.Add([]byte(`{"schema_version":2,"config_path":"/c","fingerprint":"` + hashOf("a") + `","values":{"schema_version":"2"},"profile":"readonly","workspaces":[],"mounts":[],"entries":[],` +
		`"network":{"access":"none"},"resources":{"profile":"normal","memory_mb":1,"process_limit":1,"execution_timeout_seconds":1,"cgroup":"auto"},"environment":{}}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`[[[[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeSnapshot(data)
		if err != nil {
			return
		}
		if werr := s.wellFormed(); werr != nil {
			t.Errorf("accepted, but %v", werr)
		}
		again, err := strictjson.Marshal(s)
		if err != nil {
			t.Fatalf("an accepted record cannot be written: %v", err)
		}
		if _, err := decodeSnapshot(again); err != nil {
			t.Errorf("written again it is refused: %v", err)
		}
	})
}

// proves A-CFG-05
func TestARecordHoldsACanonicalNetwork(t *testing.T) {
	for _, n := range []sandbox.NetworkPolicy{
		{Access: "local"}, {Access: "restricted"}, {Access: "none", Local: []int{1}}, {Access: "local", Local: []int{2, 1}}, {Access: "local", Local: []int{1, 1}}, {Access: "local", Local: []int{0}},
		{Access: "local", Local: []int{65536}}, {Access: "local", Local: []int{1}, Restricted: []sandbox.Endpoint{{Host: "a", Ports: []int{1}}}},
		{Access: "restricted", Restricted: []sandbox.Endpoint{{Host: "A.example", Ports: []int{1}}}}, {Access: "restricted", Restricted: []sandbox.Endpoint{{Host: "a.example"}}},
		{Access: "restricted", Restricted: []sandbox.Endpoint{{Host: "127.1", Ports: []int{1}}}}, {Access: "restricted", Restricted: []sandbox.Endpoint{{Host: "localhost", Ports: []int{1}}}},
	} {
		if networkWellFormed(n) == nil {
			t.Errorf("%+v was accepted", n)
		}
	}
	for _, n := range []sandbox.NetworkPolicy{{Access: "none"}, {Access: "local", Local: []int{1, 65535}}, {Access: "restricted", Restricted: []sandbox.Endpoint{{Host: "xn--r8jz45g.jp", Ports: []int{1}}, {Host: "::1", Ports: []int{1}}}}} {
		if err := networkWellFormed(n); err != nil {
			t.Errorf("%+v: %v", n, err)
		}
	}
}

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}
