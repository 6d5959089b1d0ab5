package profile

import (
	"path/filepath"
	"regexp"
	"strings"

	"sekisho/internal/fault"
	"sekisho/internal/yamltree"
)

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// parse reads one document and collects every problem.
func parse(file string, data []byte, cwd string) (Set, Problems) {
	root, problems := yamltree.Parse(file, data)
	if len(problems) > 0 {
		return Set{}, problems
	}
	r := yamltree.NewReader(root)
	top := r.Root().Section()
	selected := top.Key("selected")
	list := top.Key("profiles")
	top.Done()

	var set Set
	if list.Required() {
		for _, entry := range list.Free() {
			set.Profiles = append(set.Profiles, one(entry, cwd))
		}
		if list.Present() && len(set.Profiles) == 0 {
			list.Fail(yamltree.T("profile.none"), yamltree.Text{})
		}
	}
	set.choose(selected)
	if problems := r.Problems(); len(problems) > 0 {
		return Set{}, problems
	}
	return set, nil
}

func (s *Set) choose(selected yamltree.Value) {
	s.Selected = selected.Text("")
	_, found := s.Find(s.Selected)
	_, local := s.Find(Local)
	switch {
	case selected.Present() && !found:
		selected.Fail(yamltree.T("profile.no_such", "name", selected.Shown()), yamltree.Text{})
	case found:
	case local:
		s.Selected = Local
	case len(s.Profiles) > 0:
		s.Selected = s.Profiles[0].Name
	}
}

func one(entry yamltree.Named, cwd string) Profile {
	v := entry.Value
	if !nameForm.MatchString(entry.Name) {
		v.Fail(yamltree.T("profile.name"), yamltree.T("profile.accepts.name"))
	}
	s := v.Section()
	endpoint, token, ca := s.Key("endpoint"), s.Key("token_file"), s.Key("ca_file")
	codex, local, server, enabled := s.Key("codex"), s.Key("local_root"), s.Key("server_root"), s.Key("enabled")
	s.Done()

	p := Profile{Name: entry.Name, Endpoint: endpoint.Text(""), TokenFile: absolute(token), CAFile: absolute(ca), Codex: absolute(codex),
		LocalRoot: absolute(local), ServerRoot: server.Text("")}
	p.Enabled = enabled.Bool(!p.Remote())
	if p.Remote() {
		if err := check(p.Endpoint); err != nil {
			detail := "" // the code's own detail never quotes a credential
			if f := fault.As(err); f != nil {
				detail = f.Args["detail"]
			}
			endpoint.Fail(yamltree.T("profile.endpoint", "detail", detail), yamltree.T("profile.accepts.endpoint"))
		}
		if codex.Present() {
			codex.Fail(yamltree.T("profile.local_only"), yamltree.Text{})
		}
		local.Required()
		if server.Required() && !absoluteThere(p.ServerRoot) {
			server.Fail(yamltree.T("profile.not_absolute"), yamltree.T("profile.accepts.server_path"))
		}
		return p
	}
	for _, only := range []yamltree.Value{token, ca, server} {
		if only.Present() {
			only.Fail(yamltree.T("profile.remote_only"), yamltree.Text{})
		}
	}
	if enabled.Present() && !p.Enabled {
		enabled.Fail(yamltree.T("profile.local_enabled"), yamltree.Text{})
	}
	if p.LocalRoot == "" {
		p.LocalRoot = cwd
	}
	p.ServerRoot = p.LocalRoot
	return p
}

// absolute is a path of this machine.
func absolute(v yamltree.Value) string {
	path := v.Text("")
	if path == "" {
		return ""
	}
	if !filepath.IsAbs(path) {
		v.Fail(yamltree.T("profile.not_absolute"), yamltree.T("profile.accepts.path"))
	}
	return filepath.Clean(path)
}

// absoluteThere knows both forms: the server may run another operating system.
func absoluteThere(path string) bool {
	drive := len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/') && strings.ContainsRune("abcdefghijklmnopqrstuvwxyz", rune(path[0]|0x20))
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`) || drive
}
