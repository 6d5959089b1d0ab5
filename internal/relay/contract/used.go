package contract

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"sekisho/internal/relay/codex"
)

// Direction says who sends a message.
type Direction string

// The directions of the used surface.
const (
	Call          Direction = "request"
	ServerRequest Direction = "server request"
	Notification  Direction = "notification"
)

// use is one message of the used surface and how it fits a contract.
type use struct {
	direction Direction
	method    string
	since155  bool
	fit       func(*fitter)
}

// used lists the used surface in a fixed order (R-CON-06): what the method table of codex says.
func used(s *Schema) []use {
	var all []use
	for _, m := range codex.Methods() {
		all = append(all, use{Call, m.Name, m.Since155, func(f *fitter) {
			if m.ParamsName != "" {
				f.write(m.Params, s.Requests[m.Name], "params")
			} else if n := s.Requests[m.Name]; n != nil && !slices.Contains(f.kinds(n), "null") {
				f.add("params", "params_needed")
			}
			f.readNamed(m.Result, m.ResultName, "result")
		}})
	}
	for _, r := range codex.ServerRequests() {
		all = append(all, use{ServerRequest, r.Name, r.Since155, func(f *fitter) {
			f.read(r.Params, s.ServerReqs[r.Name], "params", false)
			if t, ok := s.Type(r.ReplyName); ok {
				f.write(r.Reply, t, "reply")
			} else {
				f.add("reply", "no_type", r.ReplyName)
			}
		}})
	}
	for _, n := range codex.Notifications() {
		all = append(all, use{Notification, n.Name, n.Since155, func(f *fitter) {
			f.read(n.Params, s.Notifications[n.Name], "params", false)
		}})
	}
	return all
}

func (f *fitter) readNamed(t reflect.Type, name, at string) {
	if n, ok := f.s.Type(name); ok {
		f.read(t, n, at, false)
	} else {
		f.add(at, "no_type", name)
	}
}

func (s *Schema) has(d Direction, method string) bool {
	_, ok := s.methods(d)[method]
	return ok
}

func (s *Schema) methods(d Direction) map[string]node {
	switch d {
	case Call:
		return s.Requests
	case ServerRequest:
		return s.ServerReqs
	}
	return s.Notifications
}

// roots are the types that a method's contract consists of.
func (s *Schema) roots(d Direction, method string) []string {
	seen := map[string]bool{}
	params := s.methods(d)[method]
	s.closure(params, seen)
	if result := s.resultName(d, method); result != "" {
		seen[result] = true
		s.closure(s.types[result], seen)
	}
	return slices.Sorted(maps.Keys(seen))
}

// fingerprint digests the normalised contract of one method.
func (s *Schema) fingerprint(d Direction, method string) string {
	all := s.factsOf(s.roots(d, method))
	maps.Copy(all, flat(s.methods(d)[method], "params"))
	var b strings.Builder
	for _, at := range slices.Sorted(maps.Keys(all)) {
		b.WriteString(at + " " + all[at] + "\n")
	}
	return digest([]byte(b.String()))[:16]
}

// resultName is the type of a method's result. The bundle does not say it: the method table does for what is used, and the
// names follow one rule for most of the rest; "" where neither tells.
func (s *Schema) resultName(d Direction, method string) string {
	name := ""
	if m, ok := codex.Lookup(method); ok && d == Call {
		name = m.ResultName
	} else if r := refName(s.methods(d)[method]); d != Notification && strings.HasSuffix(r, "Params") {
		name = strings.TrimSuffix(r, "Params") + "Response"
	}
	if _, ok := s.Type(name); !ok {
		return ""
	}
	return name
}
