//go:build realcodex

package appserver

import (
	"testing"

	"sekisho/internal/fileop"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/contract"
)

// What the fake says is what the pinned CLI's own contract allows. The schemas must have been generated: make contract.
func TestEveryPartIsInTheGeneratedContract(t *testing.T) {
	m, err := contract.Load()
	if err != nil {
		t.Fatal(err)
	}
	root, err := contract.CacheRoot()
	if err != nil {
		t.Fatal(err)
	}
	v, err := contract.OpenCache(fileop.OS(), root, m).Validator(m.Target, codex.Experimental)
	if err != nil {
		t.Fatal(err)
	}
	if err := (Script{Notify("no/such/method", Object{}), Notify("turn/started", Object{"threadId": "t"})}).Validate(Schema(v)); err == nil {
		t.Error("the contract allows what it does not list")
	}
	for name, script := range parts() {
		if err := script.Validate(Schema(v)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
