package codex

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkDelta(b *testing.B) {
	data := []byte(`{"threadId":"01a22da2-82e2-77c2-a448-5473243b80af","turnId":"01a22da2-8372-7ce3-a641-11b38817a1e3","itemId":"msg_1","delta":"Hello there "}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeNotification("item/agentMessage/delta", data); err != nil {
			b.Fatal(err)
		}
	}
}

// One page of history: 100 items of 16 KB.
func BenchmarkItemsPage(b *testing.B) {
	var items []string
	for i := range 100 {
		items = append(items, fmt.Sprintf(`{"turnId":"t","item":{"type":"agentMessage","id":"i%d","text":"%s","phase":null}}`, i, strings.Repeat("lorem ipsum ", 1400)))
	}
	data := []byte(`{"data":[` + strings.Join(items, ",") + `],"nextCursor":null}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var v ItemsListResult
		if err := DecodeResult(data, &v); err != nil {
			b.Fatal(err)
		}
	}
}
