package httpd

import (
	"mime"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// gate compares the headers that a browser sets with what a client of this very port sends.
type gate struct {
	hosts   []string // accepted values of Host
	origins []string // accepted values of Origin
}

func newGate(addr netip.AddrPort) gate {
	var g gate
	for _, name := range []string{"127.0.0.1", "[::1]", "localhost"} {
		host := name + ":" + strconv.Itoa(int(addr.Port()))
		g.hosts = append(g.hosts, host)
		g.origins = append(g.origins, "http://"+host)
		if addr.Port() == 80 { // clients leave the default port out
			g.hosts = append(g.hosts, name)
			g.origins = append(g.origins, "http://"+name)
		}
	}
	return g
}

// refusal is an answer without a body of the protocol.
type refusal struct {
	status int
	reason string // a word for the log
	text   string // for the client
}

// check judges a request by its head. The order is that of the threats: whoever fails the first checks learns nothing about
// the endpoint.
func (g gate) check(r *http.Request) *refusal {
	h := r.Header
	switch {
	case r.URL.Host != "" || r.URL.Scheme != "" || r.URL.User != nil || !strings.HasPrefix(r.RequestURI, "/"):
		return &refusal{http.StatusBadRequest, "target", "The request target must be a path."}
	case !slices.Contains(g.hosts, r.Host):
		return &refusal{http.StatusForbidden, "host", "The Host header must name this loopback address and port."}
	case !g.origin(h["Origin"]):
		return &refusal{http.StatusForbidden, "origin", "The Origin header is not that of this server."}
	case !sameSite(h["Sec-Fetch-Site"]):
		return &refusal{http.StatusForbidden, "origin", "Requests of other sites are not answered."}
	case target(r) != Path:
		return &refusal{http.StatusNotFound, "path", "The endpoint is " + Path + "."}
	case r.Method != http.MethodPost:
		return &refusal{http.StatusMethodNotAllowed, "method", "Only POST is answered; there is no event stream and no session."}
	case r.ContentLength > MaxBody:
		return tooLarge
	case !isJSON(h["Content-Type"]):
		return &refusal{http.StatusUnsupportedMediaType, "content_type", "The Content-Type must be application/json."}
	case len(h["Content-Encoding"]) > 0:
		return &refusal{http.StatusUnsupportedMediaType, "content_encoding", "Encoded bodies are not accepted."}
	case !takesJSON(h["Accept"]):
		return &refusal{http.StatusNotAcceptable, "accept", "The answer is application/json."}
	}
	return nil
}

var tooLarge = &refusal{http.StatusRequestEntityTooLarge, "body_limit", "The body is larger than " + strconv.Itoa(MaxBody) + " bytes."}

// target is the request's path as it was sent, so that nothing that only decodes to the endpoint is the endpoint.
func target(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return path
}

func (g gate) origin(values []string) bool {
	return len(values) == 0 || len(values) == 1 && slices.Contains(g.origins, values[0])
}

// sameSite refuses what a browser marks as sent by another site, also where it sends no Origin.
func sameSite(values []string) bool {
	return len(values) == 0 || len(values) == 1 && (values[0] == "same-origin" || values[0] == "none")
}

func isJSON(values []string) bool {
	if len(values) != 1 {
		return false
	}
	if values[0] == "application/json" { // nearly always
		return true
	}
	media, params, err := mime.ParseMediaType(values[0])
	if err != nil || media != "application/json" {
		return false
	}
	charset, ok := params["charset"]
	return !ok || strings.EqualFold(charset, "utf-8")
}

// takesJSON reports whether Accept allows JSON. The protocol wants clients to accept an event stream too; as none is ever
// sent, one that does not is served all the same.
func takesJSON(values []string) bool {
	if len(values) == 0 {
		return true
	}
	for _, v := range values {
		for item := range strings.SplitSeq(v, ",") {
			kind, _, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*", "*/*":
				return true
			}
		}
	}
	return false
}
