package contract

import (
	"maps"
	"reflect"
	"slices"

	"sekisho/internal/relay/codex"
)

// write checks that the contract takes every value of t that this client can send.
func (f *fitter) write(t reflect.Type, n node, at string) {
	n, name := f.s.resolve(n)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if inner := f.notNull(n); inner != nil {
		n, name = f.s.resolve(inner)
	}
	if _, anything := n.(bool); anything || t == rawType || !f.visit(t, name, "write") {
		return
	}
	switch {
	case t == choiceType:
		f.decisionsTaken(n, at)
	case t == cursorType:
		f.takes(n, at, "string")
		if f.exact {
			f.takes(n, at, "object")
		}
	case t.Kind() == reflect.Struct:
		f.takes(n, at, "object")
		f.writeStruct(t, n, at)
	case t.Kind() == reflect.Slice:
		f.takes(n, at, "array")
		f.write(t.Elem(), child(n, "items"), at+"[]")
	case t.Kind() == reflect.Map:
		f.takes(n, at, "object")
		if extra, ok := child(n, "additionalProperties").(map[string]any); ok {
			f.write(t.Elem(), extra, at+"{}")
		}
	case t.Kind() == reflect.String:
		f.takes(n, at, "string")
		ours, _ := codex.ValuesOf(t)
		theirs, closed := f.values(n)
		for _, v := range ours {
			if closed && !slices.Contains(theirs, v) {
				f.add(at, "value_refused", v)
			}
		}
	case t.Kind() == reflect.Bool:
		f.takes(n, at, "boolean")
	default:
		f.takes(n, at, "integer", "number")
	}
}

func (f *fitter) takes(n node, at string, oneOf ...string) {
	kinds := f.kinds(n)
	if slices.Contains(kinds, "anything") || slices.ContainsFunc(oneOf, func(k string) bool { return slices.Contains(kinds, k) }) {
		return
	}
	f.add(at, "type_refused", oneOf[0])
}

func (f *fitter) writeStruct(t reflect.Type, n node, at string) {
	vs, isUnion := codex.VariantsOf(t)
	if !isUnion {
		f.writeMembers(t, branch{node: n, props: child(n, "properties"), required: strs(child(n, "required"))}, at, nil)
		return
	}
	branches := f.branches(n, vs.Tag)
	sends := vs.Sends
	if sends == nil {
		sends = vs.Required
	}
	for _, tag := range slices.Sorted(maps.Keys(sends)) {
		sent := sends[tag]
		i := slices.IndexFunc(branches, func(b branch) bool { return b.tag == tag })
		if i < 0 {
			f.add(at, "variant_refused", tag)
			continue
		}
		f.writeMembers(t, branches[i], at+"|"+tag, sent)
	}
}

// writeMembers checks that all that is required is always sent, and that what is sent is known there. Of a union only the
// members that the variant has are looked at: the constructors set no others.
func (f *fitter) writeMembers(t reflect.Type, b branch, at string, sent []string) {
	ours := map[string]codex.Member{}
	for _, m := range codex.MembersOf(t) {
		ours[m.Name] = m
		prop, ok := lookup(b.props, m.Name)
		switch {
		case ok:
			f.write(m.Type, prop, at+"."+m.Name)
		case sent == nil && b.tag == "":
			f.add(at+"."+m.Name, "absent")
		}
	}
	for _, name := range b.required {
		m, ok := ours[name]
		if !ok || m.Optional && !slices.Contains(sent, name) {
			f.add(at+"."+name, "may_omit")
		}
	}
}

// decisionsTaken checks that every decision of ours can be sent.
func (f *fitter) decisionsTaken(n node, at string) {
	theirs, _ := f.values(n)
	for _, alt := range alternatives(n) {
		theirs = append(theirs, strs(child(alt, "enum"))...)
		theirs = append(theirs, strs(child(alt, "required"))...)
	}
	for _, k := range []codex.DecisionKind{codex.Accept, codex.AcceptForSession, codex.Decline, codex.Cancel} {
		if !slices.Contains(theirs, string(k)) {
			f.add(at, "decision_refused", string(k))
		}
	}
}
