package config

import (
	"encoding/json"
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sekisho/internal/agent/config/userfile"
	"sekisho/internal/strictjson"
	"sekisho/internal/yamltree"
)

// headerName is a field name of RFC 9110.
var headerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$") })

// reservedHeaders are set by the client itself; a configured value would break the request or its framing.
var reservedHeaders = []string{"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding",
	"te", "trailer", "upgrade", "expect", "proxy-authorization"}

func (s *sections) ollama(m *yamltree.Section) {
	defer m.Done()
	c := &s.c.Ollama
	endpoint := m.Key("endpoint")
	c.Endpoint = endpoint.Text("http://localhost:11434")
	s.header(m.Key("header_name"), m.Key("header_value_file"))
	s.endpoint(endpoint)
	model := m.Key("model")
	if c.Model = model.Text("deepseek-v4-flash:cloud"); strings.TrimSpace(c.Model) == "" || strings.ContainsFunc(c.Model, isControl) {
		model.Fail(yamltree.T("config.ollama.model_name"), yamltree.Text{})
	}
	c.Think = think(m.Key("think"))
	c.KeepAlive = keepAlive(m.Key("keep_alive"))
	s.options(m.Key("options").Section())
	s.extra(m.Key("extra_options"))
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// endpoint checks the URL (A-OLL-09). It runs after header, because plain http and a credential exclude each other.
func (s *sections) endpoint(v yamltree.Value) {
	if v.Present() && v.Node().Kind != yamltree.String {
		return
	}
	accepted := yamltree.T("config.accepts.endpoint")
	raw := s.c.Ollama.Endpoint
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
		v.Fail(yamltree.T("config.ollama.endpoint"), accepted) // the value is not repeated: it may hold a password
		return
	}
	if u.User != nil {
		v.Fail(yamltree.T("config.ollama.user_info"), accepted)
		return
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		v.Fail(yamltree.T("config.ollama.query"), accepted)
		return
	}
	if p := u.Port(); p != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			v.Fail(yamltree.T("config.ollama.port", "value", p), yamltree.T("yaml.accepts.integer_range", "min", 1, "max", 65535))
			return
		}
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		if s.c.Ollama.HeaderValueFile != "" {
			v.Fail(yamltree.T("config.ollama.plain_http_header", "host", u.Hostname()), yamltree.Text{})
			return
		}
		v.Warn(yamltree.T("config.warn.plain_http", "host", u.Hostname()))
	}
	s.c.Ollama.Endpoint = strings.TrimRight(u.String(), "/")
}

func loopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// header reads the name and the value's file. The value itself is read at each call, never here.
func (s *sections) header(name, file yamltree.Value) {
	c := &s.c.Ollama
	c.HeaderName = name.Text("Authorization")
	if !headerName().MatchString(c.HeaderName) || slices.Contains(reservedHeaders, strings.ToLower(c.HeaderName)) {
		name.Fail(yamltree.T("config.ollama.header_name", "value", c.HeaderName), yamltree.Text{})
	}
	path := s.path(file).Abs
	if path == "" {
		if name.Present() && !file.Present() {
			name.Warn(yamltree.T("config.warn.header_without_file"))
		}
		return
	}
	c.HeaderValueFile = path
	if err := userfile.CheckPrivate(path); err != nil {
		file.Fail(fileText(path, err), yamltree.Text{})
	}
}

func think(v yamltree.Value) json.RawMessage {
	levels := []string{"low", "medium", "high", "max"}
	n := v.Node()
	switch {
	case n == nil:
		return json.RawMessage("true")
	case n.Kind == yamltree.Bool && (n.Text == "true" || n.Text == "false"):
		return json.RawMessage(n.Text)
	case n.Kind == yamltree.String && slices.Contains(levels, n.Text):
		return json.RawMessage(strconv.Quote(n.Text))
	}
	v.Fail(yamltree.T("yaml.not_allowed", "value", v.Shown()), yamltree.T("yaml.accepts.one_of", "values", "true, false, "+strings.Join(levels, ", ")))
	return json.RawMessage("true")
}

// keepAlive is a Go duration or a number of seconds; Ollama refuses a bare number in quotes.
func keepAlive(v yamltree.Value) json.RawMessage {
	n := v.Node()
	switch {
	case n == nil:
		return json.RawMessage(`"5m"`)
	case n.Kind == yamltree.Int:
		if sec, err := strconv.ParseInt(n.Text, 10, 32); err == nil {
			return json.RawMessage(strconv.FormatInt(sec, 10))
		}
	case n.Kind == yamltree.String:
		if _, err := time.ParseDuration(n.Text); err == nil {
			quoted, err := strictjson.Marshal(n.Text)
			if err == nil {
				return quoted
			}
		}
	}
	v.Fail(yamltree.T("yaml.not_allowed", "value", v.Shown()), yamltree.T("config.accepts.keep_alive"))
	return json.RawMessage(`"5m"`)
}

// options reads the typed options. Ollama answers a wrong type with a 500, so types are checked here (A-OLL-02).
func (s *sections) options(m *yamltree.Section) {
	defer m.Done()
	defer func() { s.typedOptions = m.Asked() }()
	o := &s.c.Ollama.Options
	o.NumCtx = optionInt(m, "num_ctx", 1)
	if o.NumCtx == nil {
		o.NumCtx = new(int)
		*o.NumCtx = 32768
	}
	o.NumKeep = optionInt(m, "num_keep", math.MinInt32)
	o.NumPredict = optionInt(m, "num_predict", math.MinInt32)
	o.Temperature = optionFloat(m, "temperature", yamltree.Range{Min: 0, Max: 2})
	if o.Temperature == nil {
		o.Temperature = new(float64)
		*o.Temperature = 0.4
	}
	any := yamltree.Range{Min: math.Inf(-1), Max: math.Inf(1)}
	o.Seed = optionInt(m, "seed", math.MinInt32)
	o.TopK = optionInt(m, "top_k", math.MinInt32)
	o.TopP = optionFloat(m, "top_p", any)
	o.MinP = optionFloat(m, "min_p", any)
	o.TypicalP = optionFloat(m, "typical_p", any)
	o.TfsZ = optionFloat(m, "tfs_z", any)
	o.RepeatLastN = optionInt(m, "repeat_last_n", math.MinInt32)
	o.RepeatPenalty = optionFloat(m, "repeat_penalty", any)
	o.PresencePenalty = optionFloat(m, "presence_penalty", any)
	o.FrequencyPenalty = optionFloat(m, "frequency_penalty", any)
	o.Mirostat = optionInt(m, "mirostat", math.MinInt32)
	o.MirostatTau = optionFloat(m, "mirostat_tau", any)
	o.MirostatEta = optionFloat(m, "mirostat_eta", any)
	for _, item := range m.Key("stop").List() {
		o.Stop = append(o.Stop, item.Text(""))
	}
	o.NumBatch = optionInt(m, "num_batch", 1)
	o.NumGPU = optionInt(m, "num_gpu", math.MinInt32)
	o.MainGPU = optionInt(m, "main_gpu", math.MinInt32)
	o.NumThread = optionInt(m, "num_thread", math.MinInt32)
	if v := m.Key("use_mmap"); v.Present() {
		b := v.Bool(false)
		o.UseMmap = &b
	}
	for _, name := range []string{"tfs_z", "mirostat", "mirostat_tau", "mirostat_eta"} {
		if v := m.Key(name); v.Present() {
			v.Warn(yamltree.T("config.warn.option_ignored"))
		}
	}
}

func optionInt(m *yamltree.Section, name string, lo int64) *int {
	v := m.Key(name)
	if !v.Present() {
		return nil
	}
	n := int(v.Int(0, lo, math.MaxInt32))
	return &n
}

func optionFloat(m *yamltree.Section, name string, in yamltree.Range) *float64 {
	v := m.Key(name)
	if !v.Present() {
		return nil
	}
	f := v.Float(0, in)
	return &f
}

// extra passes options through that this program does not know. A typed name is reported and left out, even when its typed
// key is unset: it would bypass the type check.
func (s *sections) extra(v yamltree.Value) {
	s.c.Ollama.Extra = map[string]json.RawMessage{}
	for _, e := range v.Free() {
		if slices.Contains(s.typedOptions, e.Name) {
			e.Value.Warn(yamltree.T("config.warn.typed_in_extra", "key", "ollama.options."+e.Name))
			continue
		}
		if !e.Value.Present() {
			continue
		}
		if raw, ok := e.Value.JSON(); ok {
			s.c.Ollama.Extra[e.Name] = raw
		}
	}
}
