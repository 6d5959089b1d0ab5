package transcript

import (
	"encoding/json"
	"fmt"
	"testing"

	"sekisho/internal/relay/transport"
)

// A client that sends exactly what was recorded gets exactly what was recorded.
func TestEverySessionReplays(t *testing.T) {
	names, err := Names()
	if err != nil || len(names) != 18 {
		t.Fatalf("%d sessions, %v", len(names), err)
	}
	frames := 0
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			entries, err := Load(name)
			if err != nil {
				t.Fatal(err)
			}
			conn := Replay(entries, nil)
			want := 0
			for _, s := range conn.todo {
				if !s.Sent {
					want++
				}
			}
			driven := make(chan int)
			go func() {
				n := 0
				for e, ok := conn.Due(t.Context()); ok; e, ok = conn.Due(t.Context()) {
					n++
					frame := e.Raw
					if e.Kind == Request { // ids of our own
						frame, _ = json.Marshal(map[string]any{"id": fmt.Sprintf("own-%d", n), "method": e.Method, "params": e.Params})
					}
					if started, err := conn.Write(t.Context(), frame); err != nil || !started {
						t.Error(err)
					}
				}
				driven <- n
			}()
			got := 0
			for {
				frame, err := conn.Read(t.Context())
				if err != nil {
					if transport.ClassOf(err) != transport.Transient {
						t.Error(err)
					}
					break
				}
				got++
				if e := read(frame); e.Kind == Probe || e.Kind == Response && len(e.ID.String()) < 6 {
					t.Errorf("frame %s", frame)
				}
			}
			<-driven
			frames += got
			if got != want || len(conn.Extra()) > 0 || len(conn.Mismatched()) > 0 {
				t.Errorf("%d of %d frames, extra %v, mismatched %v", got, want, conn.Extra(), conn.Mismatched())
			}
		})
	}
	if frames < 1300 {
		t.Errorf("only %d frames", frames)
	}
}

func TestOtherThanRecorded(t *testing.T) {
	conn := Replay([]Entry{
		{Sent: true, Kind: Request, Method: "a", ID: read([]byte(`{"id":1,"method":"a"}`)).ID, Params: []byte(`{"x":1}`), Raw: []byte(`{"id":1,"method":"a","params":{"x":1}}`)},
	}, nil)
	for _, frame := range []string{`{"id":7,"method":"b"}`, `{"id":8,"method":"a","params":{"x":2}}`, `{"id":9,"method":"a"}`} {
		if _, err := conn.Write(t.Context(), []byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	if len(conn.Extra()) != 2 || len(conn.Mismatched()) != 1 {
		t.Errorf("extra %v, mismatched %v", conn.Extra(), conn.Mismatched())
	}
	conn.Close(transport.ByUser)
	if started, err := conn.Write(t.Context(), []byte(`{}`)); started || transport.ClassOf(err) != transport.Cancelled {
		t.Errorf("after close: %v, %v", started, err)
	}
}
