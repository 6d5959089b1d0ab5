package reserved

import (
	"strconv"
	"strings"

	"sekisho/internal/sandbox/policy"
	"sekisho/internal/statedir"
)

// doorPrefix begins the mark of a server that serves over HTTP.
const doorPrefix = "http-"

// DoorMark names the mark by which a server tells its HTTP port to the other servers of its user, before it listens.
func DoorMark(port int) string { return doorPrefix + strconv.Itoa(port) }

// doorPort is the port of a mark, 0 for a name that is none.
func doorPort(mark string) int {
	text, ok := strings.CutPrefix(mark, doorPrefix)
	port, err := strconv.ParseUint(text, 10, 16)
	if !ok || err != nil {
		return 0
	}
	return int(port)
}

// Doors tells the HTTP ports of all agent-mcp servers that live now and share a state root (A-POL-06). Their doors
// ask for the peer's user only, and what a payload sends comes from this process, so they cannot tell it from a client.
func Doors(stateRoot string) ([]policy.Server, error) {
	marks, err := statedir.Marks(stateRoot, func(name string) bool { return doorPort(name) > 0 })
	if err != nil {
		return nil, err
	}
	var out []policy.Server
	for _, m := range marks {
		out = append(out, policy.Server{Kind: policy.ServerAgent, Host: "127.0.0.1", Port: doorPort(m)})
	}
	return out, nil
}
