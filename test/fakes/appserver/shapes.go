package appserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"sekisho/internal/relay/codex"
)

// Shapes is the default Validator: it judges what the relay knows by the types of the relay, and anything else not at all.
// The schema that the pinned CLI generates is the stricter judge.
func Shapes(kind Kind, method string, payload json.RawMessage) error {
	switch kind {
	case Notification:
		_, err := codex.DecodeNotification(method, payload)
		return known(err)
	case Call:
		_, err := codex.DecodeServerRequest(method, payload)
		return known(err)
	case Result:
		m, ok := codex.Lookup(method)
		if !ok || m.Result == nil {
			return nil
		}
		if err := codex.DecodeResult(payload, reflect.New(m.Result).Interface()); err != nil {
			return fmt.Errorf("result of %s: %w", method, err)
		}
	}
	return nil
}

// known lets pass what this client does not handle: the real server sends that, too.
func known(err error) error {
	if errors.Is(err, codex.ErrBadParams) {
		return err
	}
	return nil
}
