package fault

import (
	"errors"
	"fmt"
	"testing"
)

// proves A-ERR-01, A-ERR-02
func TestErrorKeepsCodeCategoryAndTarget(t *testing.T) {
	cause := errors.New("disk on fire")
	err := fmt.Errorf("opening: %w", New(PolicyDenied, Target("/etc/shadow"), Cause(cause)))
	e := As(err)
	if e == nil || e.Code != PolicyDenied || e.Category() != PolicyDeny || e.Target != "/etc/shadow" || e.Args["target"] != "/etc/shadow" {
		t.Fatalf("got %+v", e)
	}
	if !errors.Is(err, cause) || !errors.Is(err, New(PolicyDenied)) || errors.Is(err, New(ToolUnknown)) {
		t.Error("the chain does not match by cause and code")
	}
	if CodeOf(cause) != "" || CodeOf(err) != PolicyDenied {
		t.Error("CodeOf is wrong")
	}
}

func TestVariantChoosesItsSentence(t *testing.T) {
	e := New(PreflightMissingPrimitive, Variant("landlock"))
	if got, want := e.SentenceKey()+" "+e.RemedyKey(), "error.preflight.missing_primitive.landlock remedy.preflight.missing_primitive.landlock"; got != want {
		t.Errorf("keys %s, want %s", got, want)
	}
}

func TestUnlistedCodeAndVariantPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"code":    func() { New("no.such.code") },
		"variant": func() { New(PolicyDenied, Variant("nope")) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("unlisted %s accepted", name)
				}
			}()
			f()
		}()
	}
}

func TestWithLeavesTheOriginalAlone(t *testing.T) {
	a := New(ToolFailed, Arg("reason", "x"))
	b := a.With(Arg("reason", "y"))
	if a.Args["reason"] != "x" || b.Args["reason"] != "y" {
		t.Errorf("a %v, b %v", a.Args, b.Args)
	}
}
