package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/strictjson"
)

var ignoreID = cmpopts.IgnoreUnexported(EntryResolution{}, InterpreterResolution{})

func genSnapshot(t *rapid.T) Snapshot {
	letter := rapid.SampledFrom([]string{"a", "b", "c"})
	declared := rapid.SampledFrom([]string{"", "/l/a", "/l/b"})
	dir := rapid.Custom(func(t *rapid.T) Resolution {
		return Resolution{Logical: letter.Draw(t, "logical"), Declared: declared.Draw(t, "declared"), Resolved: "/" + letter.Draw(t, "resolved"),
			ID: sandbox.FileID{Dev: 1, Ino: rapid.Uint64Range(1<<53, 1<<53+3).Draw(t, "inode")}, Filesystem: "xfs"}
	})
	s := Snapshot{SchemaVersion: SnapshotSchema, ConfigPath: "/c", Fingerprint: hashOf(letter.Draw(t, "fingerprint")),
		Values:     map[string]string{"schema_version": "2", "sandbox.workspaces": letter.Draw(t, "written"), "ollama.model": letter.Draw(t, "model")},
		Profile:    rapid.SampledFrom([]string{ProfileReadonly, ProfileDevelopment}).Draw(t, "profile"),
		Workspaces: rapid.SliceOfN(dir, 0, 3).Draw(t, "workspaces"),
		Network:    sandbox.NetworkPolicy{Access: sandbox.NetworkNone},
		Resources: sandbox.ResourcePolicy{Profile: "normal", MemoryMB: rapid.IntRange(1, 2).Draw(t, "memory"), ProcessLimit: 1,
			TimeoutSeconds: 1, Cgroup: "auto"}, TempMB: rapid.IntRange(1, 2).Draw(t, "temp"), HomeMB: 1}
	for range rapid.IntRange(0, 2).Draw(t, "mounts") {
		s.Mounts = append(s.Mounts, MountResolution{dir.Draw(t, "mount"), rapid.SampledFrom(mountAccesses).Draw(t, "access")})
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
	s.normalize()
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

// proves A-POL-08
func TestBaselinePhrasesAreTranslated(t *testing.T) {
	for _, profile := range []string{ProfileReadonly, ProfileDevelopment} {
		for _, g := range policy.Baseline(profile, sandbox.NetworkLocal) {
			for _, phrase := range []string{g.Name, g.Condition} {
				key := phraseKey(phrase)
				if got := CompiledIn("en").Text(key, nil); got != phrase {
					t.Errorf("%s: English says %q, the policy %q", key, got, phrase)
				}
				if ja := CompiledIn("ja").Text(key, nil); ja == phrase {
					t.Errorf("%s: no Japanese text", key)
				}
			}
		}
	}
}

func TestTableAlignsWideCharacters(t *testing.T) {
	got := table(" ", [][]string{{"適用", "x", "end"}, {"yes", "ｱ", "é"}, {"か\u3099", "🦀", ""}})
	want := " 適用  x   end\n yes   ｱ   é\n か\u3099    🦀\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestShellQuote(t *testing.T) {
	for in, want := range map[string]string{"/a/b-c.yaml": "/a/b-c.yaml", "/a b": "'/a b'", "/it's": `'/it'"'"'s'`, "": "''", "/日本": "'/日本'"} {
		if got := ShellQuote(in); got != want {
			t.Errorf("ShellQuote(%q) = %q, want %q", in, got, want)
		}
	}
}

// The keys of the specification's section 14, so that none is lost.
//
// proves A-CFG-01
func TestVocabulary(t *testing.T) {
	const list = `schema_version application.language mcp.transport mcp.http.host mcp.http.port mcp.images.max_count mcp.images.max_bytes_each
		mcp.images.max_total_bytes mcp.tasks.time_to_live_hours mcp.tasks.poll_interval_ms agent.user_system_prompt agent.max_iterations
		agent.same_failure_limit agent.task_timeout_seconds ollama.endpoint ollama.header_name ollama.header_value_file ollama.model ollama.think
		ollama.keep_alive ollama.extra_options planner.max_tasks sandbox.profile sandbox.workspaces sandbox.mounts sandbox.execution.entries
		sandbox.environment sandbox.temp_mb sandbox.home_mb sandbox.allow_tool_config_writes sandbox.network.access sandbox.network.local_endpoints
		sandbox.network.restricted_endpoints sandbox.resources.profile sandbox.resources.memory_mb sandbox.resources.process_limit
		sandbox.resources.execution_timeout_seconds sandbox.resources.cgroup file_edit.memory_backup_limit_mb limits.whole_read_bytes
		limits.search_max_results limits.tail_max_lines limits.context_summary_ratio localization.directory localization.fallback skills.directory
		logging.directory logging.level logging.http_requests logging.max_file_bytes logging.retained_files`
	var leaves []string
	keys := Keys()
	for _, k := range keys {
		section := slices.ContainsFunc(keys, func(o string) bool { return strings.HasPrefix(o, k+".") })
		if !section && !strings.Contains(k, "[]") && !strings.HasPrefix(k, "ollama.options.") {
			leaves = append(leaves, k)
		}
	}
	want := strings.Fields(list)
	slices.Sort(want)
	slices.Sort(leaves)
	if diff := cmp.Diff(want, leaves); diff != "" {
		t.Errorf("(-specification +read)\n%s", diff)
	}
}
