package uicontract

import (
	"maps"

	"sekisho/internal/fault"
	"sekisho/internal/locale"
	"sekisho/internal/visible"
)

// Explain makes a Problem of a coded failure, with its text in the worker's language. Everything in it is escaped.
func Explain(texts *locale.Catalogue, f *fault.Error) Problem {
	sentence, remedy := texts.Error(f)
	args := maps.Clone(f.Args)
	for name, v := range args {
		args[name] = visible.Escape(v)
	}
	return Problem{Code: string(f.Code), Variant: f.Variant, Args: args, Text: sentence, Remedy: remedy}
}
