//go:build linux

package main

import "sekisho/test/fakes/appserver"

// Scripts for states of the page that nobody wants to see.
func init() {
	// A thread that the server lists and cannot read.
	parts["unreadable"] = func() appserver.Script {
		s := listed(titled("t", "A thread of another time"))
		for _, method := range []string{"thread/read", "thread/turns/list", "thread/items/list"} {
			s = append(s, appserver.Expect(method, nil), appserver.Fail(method, -32603, "failed to load rollout: unexpected end of file"))
		}
		return append(s, appserver.Hold("on"))
	}
}
