package uicontract

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/relay/ask"
)

// proves R-UI-04
func TestDecodeCommand(t *testing.T) {
	tests := []struct {
		name, in string
		want     any
		err      error
	}{
		{"known", `{"version":1,"operation":"a","kind":"turn.send","params":{"thread":"t","text":"hi"}}`, &TurnSend{Thread: "t", Text: "hi"}, nil},
		{"no params", `{"version":1,"operation":"a","kind":"reconnect"}`, &None{}, nil},
		{"other version first", `{"version":2,"operation":"","kind":"?","new":1}`, nil, ErrVersion},
		{"no version", `{"operation":"a","kind":"reconnect"}`, nil, ErrVersion},
		{"unknown kind", `{"version":1,"operation":"a","kind":"turn.Send","params":{}}`, nil, ErrCommand},
		{"unknown member", `{"version":1,"operation":"a","kind":"turn.send","params":{"thread":"t","Text":"hi"}}`, nil, ErrCommand},
		{"twice", `{"version":1,"operation":"a","operation":"b","kind":"reconnect"}`, nil, ErrCommand},
		{"no operation", `{"version":1,"operation":"","kind":"reconnect"}`, nil, ErrCommand},
		{"trailing", `{"version":1,"operation":"a","kind":"reconnect"} {}`, nil, ErrCommand},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, got, err := DecodeCommand([]byte(tt.in))
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// proves R-UI-04
func TestBatchRoundTrip(t *testing.T) {
	in := Batch{Version, []Event{
		{EvDelta, &Delta{Thread: "t", Turn: "u", Item: "i", Of: OfText, Text: "<b>\u2028", Bytes: 6}},
		{EvCard, &Card{ID: "1", Kind: CardKind(ask.CommandCard), State: CardState(ask.Pending), Thread: "t", Choices: []ask.Choice{{ID: "0", Kind: "accept"}}}},
	}}
	data, err := Encode(in)
	if err != nil {
		t.Fatal(err)
	}
	var out Batch
	if err := Decode(data, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Error(diff)
	}
	if err := Decode([]byte(`{"version":1,"events":[{"kind":"new","body":{}}]}`), &out); err == nil {
		t.Error("an unknown event was taken")
	}
}

func FuzzDecodeCommand(f *testing.F) {
	f.Add([]byte(`{"version":1,"operation":"a","kind":"card.answer","params":{"card":"1","fields":{"a":[1,{}]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, params, err := DecodeCommand(data)
		if err == nil && (params == nil || c.Version != Version) {
			t.Errorf("%q: %v, %v without an error", data, c, params)
		}
	})
}
