package config

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"unicode/utf8"

	"sekisho/internal/agent/config/userfile"
	"sekisho/internal/fault"
	"sekisho/internal/yamltree"
)

// maxPromptBytes bounds the user prompt file (A-CFG-01).
const maxPromptBytes = 64 << 10

// maxTTLHours keeps a time to live inside what a time.Duration holds.
const maxTTLHours = 1_000_000

// sections reads the vocabulary of the specification's section 14, one method per top-level key, in its order.
type sections struct {
	places Places
	reader *yamltree.Reader
	c      *Config
	texts  *Loaded // gets the Locale
	// typedOptions are the names that ollama.options knows.
	typedOptions []string
}

// Keys returns every key of the vocabulary, with "[]" for the items of a list.
func Keys() []string {
	r := yamltree.NewReader(&yamltree.Node{Kind: yamltree.Map})
	s := sections{c: &Config{}, texts: &Loaded{}}
	s.read(r)
	return r.Declared()
}

func (s *sections) read(r *yamltree.Reader) {
	s.reader = r
	r.Declare("sandbox.mounts[].path", "sandbox.mounts[].access",
		"sandbox.execution.entries[].alias", "sandbox.execution.entries[].path", "sandbox.execution.entries[].runtime_root",
		"sandbox.execution.entries[].environment",
		"sandbox.network.restricted_endpoints[].host", "sandbox.network.restricted_endpoints[].ports")
	root := r.Root().Section()
	version := root.Key("schema_version")
	if version.Required() {
		version.Int(SchemaVersion, SchemaVersion, SchemaVersion)
	}
	application := root.Key("application").Section()
	language := application.Key("language")
	application.Done()
	s.mcp(root.Key("mcp").Section())
	s.agent(root.Key("agent").Section())
	s.ollama(root.Key("ollama").Section())
	planner := root.Key("planner").Section()
	s.c.Planner.MaxTasks = count(planner.Key("max_tasks"), 32)
	planner.Done()
	s.sandbox(root.Key("sandbox").Section())
	edit := root.Key("file_edit").Section()
	s.c.FileEdit.MemoryBackupLimitMB = count(edit.Key("memory_backup_limit_mb"), 16)
	edit.Done()
	s.limits(root.Key("limits").Section())
	s.localization(root.Key("localization").Section(), language)
	s.skills(root.Key("skills").Section())
	s.logging(root.Key("logging").Section())
	root.Done()
}

func (s *sections) mcp(m *yamltree.Section) {
	defer m.Done()
	c := &s.c.MCP
	c.Transport = m.Key("transport").Enum(TransportStdio, TransportStdio, TransportHTTP)
	http := m.Key("http").Section()
	c.HTTPHost = http.Key("host").Enum("127.0.0.1", "127.0.0.1", "::1") // A-MCP-05
	c.HTTPPort = int(http.Key("port").Int(8080, 1, 65535))
	http.Done()
	images := m.Key("images").Section()
	c.ImagesMaxCount = count(images.Key("max_count"), 4)
	c.ImagesMaxBytesEach = images.Key("max_bytes_each").Int(10485760, 1, math.MaxInt32)
	c.ImagesMaxBytesTotal = images.Key("max_total_bytes").Int(20971520, 1, math.MaxInt32)
	images.Done()
	tasks := m.Key("tasks").Section()
	c.TaskTTLHours = int(tasks.Key("time_to_live_hours").Int(24, 1, maxTTLHours))
	c.TaskPollMillis = count(tasks.Key("poll_interval_ms"), 1000)
	tasks.Done()
}

func (s *sections) agent(m *yamltree.Section) {
	defer m.Done()
	c := &s.c.Agent
	s.prompt(m.Key("user_system_prompt"))
	c.MaxIterations = count(m.Key("max_iterations"), 128)
	c.SameFailureLimit = count(m.Key("same_failure_limit"), 5)
	c.TaskTimeoutSeconds = int(m.Key("task_timeout_seconds").Int(3600, 0, math.MaxInt32))
}

// prompt reads the user prompt file: a configured one must exist, the default one may be missing (A-CFG-01).
func (s *sections) prompt(v yamltree.Value) {
	path := s.path(v).Abs
	if !v.Present() {
		path = s.beside("prompts", "user-system.md")
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	if path == "" {
		return
	}
	data, err := userfile.Read(path, maxPromptBytes)
	switch {
	case errors.Is(err, userfile.ErrTooLarge):
		v.Fail(yamltree.T("config.file.too_large", "path", path, "limit", maxPromptBytes), yamltree.Text{})
	case err != nil:
		v.Fail(fileText(path, err), yamltree.Text{})
	case !utf8.Valid(data):
		v.Fail(yamltree.T("config.file.not_utf8", "path", path), yamltree.Text{})
	default:
		s.c.Agent.UserSystemPrompt, s.c.Agent.UserSystemPromptText = path, string(data)
	}
}

func (s *sections) limits(m *yamltree.Section) {
	defer m.Done()
	c := &s.c.Limits
	c.WholeReadBytes = m.Key("whole_read_bytes").Int(1048576, 1, math.MaxInt32)
	c.SearchMaxResults = int(m.Key("search_max_results").Int(1000, 1, 1000))
	c.TailMaxLines = int(m.Key("tail_max_lines").Int(10000, 1, 10000))
	c.ContextSummaryRatio = m.Key("context_summary_ratio").Float(0.8, yamltree.Range{Min: 0, Max: 1, AboveMin: true})
}

// skills refuses a configured directory: skills come later, and leaving them out silently would change what the model is
// told. A default directory that exists is reported for the same reason.
func (s *sections) skills(m *yamltree.Section) {
	defer m.Done()
	v := m.Key("directory")
	if s.path(v).Abs != "" {
		v.Refuse(fault.FeatureUnavailable, yamltree.T("config.later.skills"), yamltree.T("config.accepts.absent"))
		return
	}
	if dir := s.beside("skills"); dir != "" {
		if _, err := os.Stat(dir); err == nil {
			v.Warn(yamltree.T("config.warn.skills_ignored", "path", dir))
		}
	}
}

func (s *sections) logging(m *yamltree.Section) {
	defer m.Done()
	c := &s.c.Logging
	dir := m.Key("directory")
	if c.Directory = s.path(dir).Abs; c.Directory == "" {
		c.Directory = filepath.Join(s.places.StateRoot, "logs")
	} else if info, err := os.Stat(c.Directory); err == nil && !info.IsDir() {
		dir.Fail(fileText(c.Directory, errNotDirectory), yamltree.Text{})
	}
	c.Level = m.Key("level").Enum("info", "debug", "info", "warn", "error")
	c.HTTPRequests = m.Key("http_requests").Bool(true)
	c.MaxFileBytes = m.Key("max_file_bytes").Int(10485760, 1, math.MaxInt64)
	c.RetainedFiles = int(m.Key("retained_files").Int(5, 1, 10000))
}

// count reads a positive number.
func count(v yamltree.Value, def int64) int { return int(v.Int(def, 1, math.MaxInt32)) }

// path makes a written path absolute against the base file's directory (A-CFG-06).
func (s *sections) path(v yamltree.Value) Path {
	text := v.Text("")
	switch {
	case !v.Present() || text == "" && v.Node().Kind != yamltree.String:
		return Path{}
	case text == "":
		v.Fail(yamltree.T("config.path.empty"), yamltree.Text{})
		return Path{}
	case shellPath().MatchString(text):
		v.Fail(yamltree.T("config.path.shell", "part", shellPath().FindString(text)), yamltree.T("config.accepts.path", "path", wholePath(text)))
		return Path{}
	}
	abs := text
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(filepath.Dir(s.places.Config), abs)
	}
	return Path{Logical: text, Abs: filepath.Clean(abs), Key: v.Path()}
}

// shellPath matches the beginnings of a path that a shell would replace.
var shellPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(~[^/]*|\$[A-Za-z_][A-Za-z0-9_]*|\$\{[^}]*\}|\$\([^)]*\)|%[A-Za-z_]+%)`)
})

// wholePath is an example of what to write instead.
func wholePath(text string) string {
	home, err := os.UserHomeDir()
	part := shellPath().FindString(text)
	if err != nil || part != "~" && part != "$HOME" && part != "${HOME}" {
		home = "/home/me"
	}
	if len(part) > 1 && part[0] == '~' {
		home = "/home/" + part[1:]
	}
	return home + text[len(part):]
}

// beside is a built-in default's path beside the executable, or "" when the executable is not known.
func (s *sections) beside(elem ...string) string {
	if s.places.Executable == "" {
		return ""
	}
	return filepath.Join(append([]string{filepath.Dir(s.places.Executable)}, elem...)...)
}
