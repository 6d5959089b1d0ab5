package sandbox

import "testing"

func TestRightsString(t *testing.T) {
	if got, want := (Read | Write | Delete | Execute).String(), "read, write, delete, execute"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !(Read | Execute).Has(Read) || Read.Has(Read|Write) {
		t.Error("Has is not subset inclusion")
	}
}
