package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sekisho/internal/relay/uicontract"
)

var (
	enumType = reflect.TypeFor[uicontract.Enum]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// renderer collects the named types that it meets.
type renderer struct {
	pending []reflect.Type
	done    map[string]string
	types   map[string]reflect.Type
}

// render is the whole file. Types stand in the order of their names.
func render() string {
	r := &renderer{done: map[string]string{}, types: map[string]reflect.Type{}}
	var b strings.Builder
	b.WriteString("// Generated from internal/relay/uicontract by go generate. Do not edit.\n\n")
	fmt.Fprintf(&b, "export const contractVersion = %d;\nexport const contractHeader = %q;\n", uicontract.Version, uicontract.Header)
	fmt.Fprintf(&b, "export const paths = { session: %q, command: %q, stream: %q } as const;\n", uicontract.PathSession, uicontract.PathCommand, uicontract.PathStream)
	fmt.Fprintf(&b, "export const previewBytes = %d;\n\n", uicontract.PreviewBytes)

	b.WriteString("/** Parameters and value of every command. */\nexport interface Commands {\n")
	for _, c := range uicontract.Commands() {
		fmt.Fprintf(&b, "  %q: { params: %s; value: %s };\n", c.Name, r.ref(c.Params), r.ref(c.Result))
	}
	b.WriteString("}\n\n/** Body of every event. */\nexport interface Events {\n")
	for _, e := range uicontract.Events() {
		fmt.Fprintf(&b, "  %q: %s;\n", e.Name, r.ref(e.Params))
	}
	b.WriteString(`}

export type CommandKind = keyof Commands;
export type EventKind = keyof Events;
export type Event = { [K in EventKind]: { kind: K; body: Events[K] } }[EventKind];

export interface Command<K extends CommandKind = CommandKind> {
  version: typeof contractVersion;
  /** Epoch of the owner whose state is shown. What sends or keeps something for an owner needs it. */
  owner?: number;
  operation: string;
  kind: K;
  params: Commands[K]["params"];
}

export interface Result<K extends CommandKind = CommandKind> {
  version: typeof contractVersion;
  operation: string;
  status: Status;
  value?: Commands[K]["value"];
  problem?: Problem;
}

export interface Batch {
  version: typeof contractVersion;
  events: Event[];
}

`)
	for _, t := range []any{uicontract.Status(""), uicontract.Problem{}, uicontract.KeyExchange{}, uicontract.SessionGranted{}, uicontract.Refusal{}} {
		r.ref(reflect.TypeOf(t))
	}
	for len(r.pending) > 0 {
		t := r.pending[0]
		r.pending = r.pending[1:]
		r.done[t.Name()] = r.declare(t)
	}
	for _, name := range slices.Sorted(maps.Keys(r.done)) {
		b.WriteString(r.done[name])
	}
	return b.String()
}

// ref is how t is written where it is used.
func (r *renderer) ref(t reflect.Type) string {
	switch {
	case t == rawType, t.Kind() == reflect.Interface:
		return "unknown"
	case t.Kind() == reflect.Pointer:
		return r.ref(t.Elem())
	case t.Kind() == reflect.Slice:
		return r.ref(t.Elem()) + "[]"
	case t.Kind() == reflect.Map:
		return "Record<string, " + r.ref(t.Elem()) + ">"
	case t.Kind() == reflect.Struct, t.Implements(enumType):
		if known, ok := r.types[t.Name()]; !ok {
			r.types[t.Name()] = t
			r.pending = append(r.pending, t)
		} else if known != t {
			panic("two types are called " + t.Name())
		}
		return t.Name()
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.String:
		return "string"
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64:
		return "number"
	}
	panic("no TypeScript for " + t.String())
}

func (r *renderer) declare(t reflect.Type) string {
	if t.Kind() == reflect.String {
		var values []string
		for _, v := range reflect.Zero(t).Interface().(uicontract.Enum).Values() {
			values = append(values, strconv.Quote(v))
		}
		return fmt.Sprintf("export type %s = %s;\n\n", t.Name(), strings.Join(values, " | "))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "export interface %s {\n", t.Name())
	for i := range t.NumField() {
		name, opts, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if strings.Contains(opts, "omitzero") {
			name += "?"
		}
		fmt.Fprintf(&b, "  %s: %s;\n", name, r.ref(t.Field(i).Type))
	}
	b.WriteString("}\n\n")
	return b.String()
}
