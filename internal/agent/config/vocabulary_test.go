package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
)

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
