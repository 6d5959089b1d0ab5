package relay

import (
	"encoding/json"
	"testing"
)

// proves R-CON-05
func TestRequestIDs(t *testing.T) {
	for text, want := range map[string]RequestID{`0`: IntID(0), `"0"`: StringID("0"), `-3`: IntID(-3), `""`: StringID("")} {
		var got RequestID
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want || !got.Valid() {
			t.Errorf("%s: %v, %v", text, got, err)
		}
		if back, err := json.Marshal(got); err != nil || string(back) != text {
			t.Errorf("%s came back as %s, %v", text, back, err)
		}
	}
	for _, text := range []string{`1.5`, `null`, `{}`, `true`, `1e3`, `9223372036854775808`} {
		var got RequestID
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s accepted as %v", text, got)
		}
	}
	if IntID(1) == StringID("1") || (RequestID{}).Valid() {
		t.Error("ids that must differ are equal")
	}
}
