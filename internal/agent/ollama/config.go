package ollama

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/strictjson"
)

// settings is what New derives from a checked Config.
type settings struct {
	base     string                     // endpoint without a trailing slash
	loopback bool                       // the endpoint is this machine
	extra    map[string]json.RawMessage // extra options without typed names, which are never sent (A-OLL-02)
}

func check(cfg Config) (settings, error) {
	var s settings
	var err error
	refuse := func(key string, format string, args ...any) (settings, error) {
		cause := fmt.Errorf(format, args...)
		return settings{}, fault.New(fault.ConfigurationInvalid, fault.Target(key), fault.Arg("detail", cause), fault.Cause(cause))
	}
	if s.base, s.loopback, err = endpoint(cfg.Endpoint); err != nil {
		return refuse("ollama.endpoint", "%w", err)
	}
	if cfg.Model == "" || !plainText(cfg.Model) {
		return refuse("ollama.model", "the model needs a name without control characters")
	}
	if err := checkThink(cfg.Think); err != nil {
		return refuse("ollama.think", "%w", err)
	}
	if err := checkKeepAlive(cfg.KeepAlive); err != nil {
		return refuse("ollama.keep_alive", "%w", err)
	}
	if n := cfg.TopLogprobs; n != nil && (*n < 0 || *n > 20) {
		return refuse("ollama.top_logprobs", "%d is outside 0..20", *n)
	}
	if cfg.Options.NumCtx != nil && *cfg.Options.NumCtx <= 0 {
		return refuse("ollama.options.num_ctx", "%d is not positive", *cfg.Options.NumCtx)
	}
	if _, err := strictjson.Marshal(cfg.Options); err != nil { // NaN or infinity
		return refuse("ollama.options", "%w", err)
	}
	s.extra = map[string]json.RawMessage{}
	for name, value := range cfg.Extra {
		if slices.Contains(typedOptions, name) {
			continue // reported when the configuration is read
		}
		if _, err := strictjson.Canonical(value); err != nil {
			return refuse("ollama.extra_options."+name, "%w", err)
		}
		s.extra[name] = value
	}
	if cfg.HeaderValueFile != "" {
		if !s.loopback && strings.HasPrefix(s.base, "http:") {
			return refuse("ollama.header_value_file", "a credential is not sent over plain http beyond this machine; use an https endpoint")
		}
		if err := headerName(cfg.HeaderName); err != nil {
			return refuse("ollama.header_name", "%w", err)
		}
	}
	return s, nil
}

func endpoint(text string) (base string, loopback bool, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", false, fmt.Errorf("not a URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.Opaque != "":
		return "", false, fmt.Errorf("an http or https URL is needed")
	case u.User != nil:
		return "", false, fmt.Errorf("a URL with user info is refused; use header_name and header_value_file")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", false, fmt.Errorf("a URL with query or fragment is refused")
	case u.Hostname() == "":
		return "", false, fmt.Errorf("the URL names no host")
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return "", false, fmt.Errorf("port %s is outside 1..65535", p)
		}
	}
	return strings.TrimRight(u.String(), "/"), isLoopback(u.Hostname()), nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

func checkThink(raw json.RawMessage) error {
	switch string(raw) {
	case "true", "false", `"low"`, `"medium"`, `"high"`, `"max"`:
		return nil
	}
	return fmt.Errorf("%q is none of true, false, low, medium, high, max", raw)
}

// checkKeepAlive accepts the two forms of Ollama; bare digits in a string are an error there.
func checkKeepAlive(raw json.RawMessage) error {
	var text string
	var seconds int64
	if len(raw) == 0 || json.Unmarshal(raw, &seconds) == nil && string(raw) != "null" {
		return nil
	}
	if json.Unmarshal(raw, &text) == nil {
		if _, err := time.ParseDuration(text); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%q is neither a duration such as 5m nor whole seconds", raw)
}

// options merges configured, per-call and extra options; nil when none is set.
func (c *Client) options(r Request) (json.RawMessage, error) {
	o := c.cfg.Options
	if r.Temperature != nil {
		o.Temperature = r.Temperature
	}
	if r.NumPredict != nil {
		o.NumPredict = r.NumPredict
	}
	typed, err := strictjson.Marshal(o)
	if err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(typed, &all); err != nil {
		return nil, err
	}
	for name, value := range c.set.extra {
		all[name] = value
	}
	if len(all) == 0 {
		return nil, nil
	}
	return strictjson.Marshal(all)
}

// typedOptions are the names of agent.OllamaOptions.
var typedOptions = []string{
	"num_ctx", "num_keep", "num_predict", "temperature", "seed", "top_k", "top_p", "min_p", "typical_p", "tfs_z", "repeat_last_n", "repeat_penalty",
	"presence_penalty", "frequency_penalty", "mirostat", "mirostat_tau", "mirostat_eta", "stop", "num_batch", "num_gpu", "main_gpu", "num_thread", "use_mmap",
}
