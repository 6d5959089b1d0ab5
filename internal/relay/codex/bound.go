package codex

import (
	"reflect"
	"slices"
	"sync"

	"sekisho/internal/relay"
)

// MaxErrorText bounds each text of an error that a server tells about a turn, in bytes; the rest is cut (R-PRI-01).
const MaxErrorText = 16 << 10

// bounded is a type that is kept for long and so is cut when it is decoded.
type bounded interface{ bound() }

// bound keeps the known flags, each once, and a type of a length that can be one.
func (s *ThreadStatus) bound() {
	s.Type, _ = Bound(s.Type, relay.MaxID)
	var flags []string
	for _, flag := range []string{FlagWaitApproval, FlagWaitsUserInput} {
		if slices.Contains(s.ActiveFlags, flag) {
			flags = append(flags, flag)
		}
	}
	s.ActiveFlags = flags
}

func (s *TurnStatus) bound() {
	kept, _ := Bound(string(*s), relay.MaxID)
	*s = TurnStatus(kept)
}

func (e *TurnError) bound() {
	e.Message, _ = Bound(e.Message, MaxErrorText)
	e.AdditionalDetails, _ = Bound(e.AdditionalDetails, MaxErrorText)
	if len(e.Info) > MaxErrorText {
		e.Info = nil // a part of it is not JSON
	}
}

var (
	boundedType = reflect.TypeFor[bounded]()
	holdsType   sync.Map // reflect.Type → bool
)

// holds reports whether a value of type t can have something bounded in it.
func holds(t reflect.Type) bool {
	if known, ok := holdsType.Load(t); ok {
		return known.(bool)
	}
	var found bool
	switch {
	case reflect.PointerTo(t).Implements(boundedType):
		found = true
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice:
		found = holds(t.Elem())
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			found = found || t.Field(i).IsExported() && holds(t.Field(i).Type)
		}
	}
	holdsType.Store(t, found)
	return found
}

// boundIn cuts everything bounded in v, which is addressable.
func boundIn(v reflect.Value) {
	if !holds(v.Type()) {
		return
	}
	if b, ok := v.Addr().Interface().(bounded); ok {
		b.bound()
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			boundIn(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			boundIn(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				boundIn(v.Field(i))
			}
		}
	}
}
