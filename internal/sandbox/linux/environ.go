//go:build linux

package linux

import (
	"maps"
	"slices"
	"strings"

	"sekisho/internal/sandbox"
)

// Path is the PATH of every payload.
const Path = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

// defaults keep programs from asking, paging, colouring, phoning home, and from leaving servers behind that outlive their
// run (A-SBX-03).
var defaults = map[string]string{
	"PATH":  Path,
	"LANG":  "C.UTF-8",
	"SHELL": "/bin/sh",
	"USER":  userName, "LOGNAME": userName,
	"TERM": "dumb", "NO_COLOR": "1", "CI": "1",
	"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "EDITOR": "true",
	"DEBIAN_FRONTEND": "noninteractive", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
	"npm_config_update_notifier": "false", "npm_config_fund": "false", "npm_config_audit": "false",

	"DOTNET_SKIP_FIRST_TIME_EXPERIENCE":                  "1",
	"DOTNET_NOLOGO":                                      "1",
	"DOTNET_CLI_TELEMETRY_OPTOUT":                        "1",
	"DOTNET_GENERATE_ASPNET_CERTIFICATE":                 "false",
	"DOTNET_CLI_WORKLOAD_UPDATE_NOTIFY_DISABLE":          "1",
	"DOTNET_SKIP_WORKLOAD_INTEGRITY_CHECK":               "1",
	"DOTNET_CLI_USE_MSBUILD_SERVER":                      "0",
	"DOTNET_EnableDiagnostics":                           "0", // its named socket would be refused
	"MSBuildEnableWorkloadResolver":                      "false",
	"MSBUILDDISABLENODEREUSE":                            "1",
	"DOTNET_SYSTEM_CONSOLE_ALLOW_ANSI_COLOR_REDIRECTION": "0",
	"POWERSHELL_TELEMETRY_OPTOUT":                        "1",
	"POWERSHELL_UPDATECHECK":                             "Off",
}

// environment is built from nothing; later sources replace earlier ones: the defaults, the task's directories, the
// policy's literals, the command's own. Without any of the last the list is made once.
func (p *plan) environment(policy *sandbox.EffectivePolicy, command []string) []string {
	p.usual.Do(func() { p.env = environment(policy, p.view.home, nil) })
	if len(command) == 0 {
		return p.env
	}
	return environment(policy, p.view.home, command)
}

func environment(p *sandbox.EffectivePolicy, home string, command []string) []string {
	env := maps.Clone(defaults)
	for _, name := range []string{"HOME", "DOTNET_CLI_HOME"} {
		env[name] = home
	}
	for _, name := range []string{"TMPDIR", "TEMP", "TMP"} {
		env[name] = tempDir
	}
	maps.Copy(env, p.Environment)
	for _, kv := range command {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			env[name] = value
		}
	}
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}
