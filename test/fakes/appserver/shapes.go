package appserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/contract"
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

// Schema judges by the contract that a pinned CLI generated: what it does not list, the real server cannot send.
func Schema(v *contract.Validator) Validator {
	return func(kind Kind, method string, payload json.RawMessage) error {
		switch kind {
		case Notification:
			return v.Params(contract.Notification, method, payload)
		case Call:
			return v.Params(contract.ServerRequest, method, payload)
		case Result:
			return v.Result(contract.Call, method, payload)
		}
		return nil
	}
}

// Validate judges everything that the script sends without playing it. References stay as they are written: where one
// stands, the contract must allow a string.
func (s Script) Validate(v Validator) error {
	methods := map[string]string{}
	var found []error
	for i, step := range s {
		kind, method, payload := Kind(""), step.Method, step.Params
		switch step.Do {
		case DoExpect:
			methods[step.label()] = step.Method
		case DoNotify:
			kind = Notification
		case DoRequest:
			kind = Call
		case DoAuto, DoReply:
			kind, payload = Result, step.Result
			if step.Do == DoReply {
				method = methods[step.label()]
			}
		}
		if kind == "" || step.Unchecked || step.Error != nil {
			continue
		}
		if err := v(kind, method, orNull(payload)); err != nil {
			found = append(found, fmt.Errorf("step %d (%s %s): %w", i+1, step.Do, step.label(), err))
		}
	}
	return errors.Join(found...)
}
