package lifecycle

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sekisho/internal/agent/config"
	"sekisho/internal/fault"
)

// proves A-ERR-01, A-SBX-02
func TestAStartCommandNamesThisProgramAsItWasStarted(t *testing.T) {
	s := &session{places: config.Places{Program: "/home/me/a b/agent-mcp", Config: "/home/me/agent.yaml"}}
	cause := fault.New(fault.ResourceMemoryUnenforceable, fault.Variant("scope"), fault.Target("auto"), fault.Arg("tried", "x"),
		fault.Arg("setting", "auto"), fault.Arg("command", "systemd-run --user --scope"), fault.Arg("program", "/proc/self/exe"))
	for _, lang := range []string{"en", "ja"} {
		_, remedy := config.CompiledIn(lang).Error(fault.As(s.startable(fmt.Errorf("preflight: %w", cause))))
		if want := "systemd-run --user --scope '/home/me/a b/agent-mcp' /home/me/agent.yaml"; !strings.HasSuffix(remedy, want) {
			t.Errorf("%s: %q does not end with %q", lang, remedy, want)
		}
	}
	if other := errors.New("x"); s.startable(other) != other {
		t.Error("another error was changed")
	}
}

// proves A-CLI-04
func TestMistyped(t *testing.T) {
	t.Chdir(t.TempDir())
	for arg, want := range map[string]string{"aply": "mean apply?", "SHOW": "mean show?", "help": "mean --help?", "serve": "commands are apply and show",
		"": "", "a.yaml": "", "./aply": "", "/aply": "", "設定": ""} {
		if got := Mistyped(arg); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("Mistyped(%q) = %q, want %q", arg, got, want)
		}
	}
}
