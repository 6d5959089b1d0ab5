// Package relay is the vocabulary of relaycodex: who owns a piece of state (Owner), which connection a live thing belongs to
// (Generation), and the identifiers of the app-server protocol as distinct types. It holds types only.
//
// Every stored thing is keyed by Owner and every live thing by Generation, from the first line: there is no "the"
// connection and no "the" account anywhere in this program (R-PRI-05, R-CONN-02).
package relay

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
)

// Owner is the partition of all state: profile, account, auth principal and working root (R-PRI-05). It is comparable. Two
// owners that differ in any member share nothing.
type Owner struct {
	Profile   string `json:"profile"`
	Account   string `json:"account"`
	Principal string `json:"principal"`
	Root      string `json:"root"`
}

// Generation numbers the connections of this process, starting at 1; 0 is no connection. A number is never reused, and what
// arrives for an ended generation is ignored (R-CONN-02).
type Generation uint64

// MaxID bounds every identifier of the app-server, in bytes. A longer one is malformed: ids are kept, repeated and logged.
const MaxID = 256

// Identifiers of the app-server, opaque to us.
type (
	ThreadID string
	TurnID   string
	ItemID   string
)

// OperationID names one mutation locally. It is never put on the wire as an idempotency key (R-REC-07).
type OperationID string

// RequestID is the id of a JSON-RPC request: an integer or a string. It is comparable; the integer 1 and the string "1"
// differ. The real server's first id is the integer 0, so the zero value is not an id: Valid tells.
type RequestID struct {
	text  string
	n     int64
	isStr bool
	valid bool
}

// IntID and StringID make ids.
func IntID(n int64) RequestID { return RequestID{n: n, valid: true} }

// StringID makes an id from a string.
func StringID(s string) RequestID { return RequestID{text: s, isStr: true, valid: true} }

// Valid reports whether id was set.
func (id RequestID) Valid() bool { return id.valid }

// Int returns the number of an integer id.
func (id RequestID) Int() (n int64, ok bool) { return id.n, id.valid && !id.isStr }

// String is for keys and logs: the JSON form, in printable ASCII, so that it reads back as the same id, looks like no
// other, and has at most 6 × MaxID + 2 bytes.
func (id RequestID) String() string {
	switch {
	case !id.valid:
		return "none"
	case id.isStr:
		return quote(id.text)
	}
	return strconv.FormatInt(id.n, 10)
}

func quote(s string) string {
	b := []byte{'"'}
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r >= ' ' && r <= '~':
			b = append(b, byte(r))
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				b = fmt.Appendf(b, `\u%04x`, unit)
			}
		}
	}
	return string(append(b, '"'))
}

// ErrID reports an id that is neither an integer nor a string of at most MaxID bytes.
var ErrID = errors.New("request id must be an integer or a short string")

// MarshalJSON implements json.Marshaler.
func (id RequestID) MarshalJSON() ([]byte, error) {
	switch {
	case !id.valid:
		return nil, ErrID
	case id.isStr:
		return json.Marshal(id.text)
	}
	return strconv.AppendInt(nil, id.n, 10), nil
}

// UnmarshalJSON implements json.Unmarshaler; null, fractions, numbers outside int64 and strings above MaxID are refused.
func (id *RequestID) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		if len(s) > MaxID {
			return ErrID
		}
		*id = StringID(s)
		return nil
	}
	n, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil || n == math.MinInt64 {
		return ErrID
	}
	*id = IntID(n)
	return nil
}

// Key names a live thing: an id means something only within its generation.
type Key struct {
	Generation Generation `json:"generation"`
	Request    RequestID  `json:"request"`
}
