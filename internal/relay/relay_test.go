package relay

import (
	"encoding/json"
	"strings"
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
	for _, text := range []string{`1.5`, `null`, `{}`, `true`, `1e3`, `9223372036854775808`, `"` + strings.Repeat("x", MaxID+1) + `"`} {
		var got RequestID
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s accepted as %v", text, got)
		}
	}
	if IntID(1) == StringID("1") || (RequestID{}).Valid() {
		t.Error("ids that must differ are equal")
	}
}

// proves R-CON-05, R-INT-01: the text of an id reads back as the same id, whatever is in it, and shows nothing else.
func TestRequestIDsAsText(t *testing.T) {
	for in, want := range map[string]string{
		"a é\u202e\x7f":   `"a \u00e9\u202e\u007f"`,
		"\U000e0041x":     `"\udb40\udc41x"`,
		"a.b\"\\\n\x00":   `"a.b\"\\\u000a\u0000"`,
		"<&>\u2028\ufffd": `"<&>\u2028\ufffd"`,
	} {
		id := StringID(in)
		if id.String() != want {
			t.Errorf("%q: %s, want %s", in, id, want)
		}
		var back RequestID
		if err := back.UnmarshalJSON([]byte(id.String())); err != nil || back != id {
			t.Errorf("%s came back as %s, %v", id, back, err)
		}
	}
	if id := StringID(strings.Repeat("\x00", MaxID)); len(id.String()) != 6*MaxID+2 {
		t.Errorf("%d bytes", len(id.String()))
	}
}

func FuzzRequestIDText(f *testing.F) {
	f.Add(`"a\ud83d\ude00\u007f"`)
	f.Add(`-9`)
	f.Fuzz(func(t *testing.T, text string) {
		var id, back RequestID
		if id.UnmarshalJSON([]byte(text)) != nil {
			return
		}
		if err := back.UnmarshalJSON([]byte(id.String())); err != nil || back != id {
			t.Errorf("%s came back as %s, %v", id, back, err)
		}
	})
}
