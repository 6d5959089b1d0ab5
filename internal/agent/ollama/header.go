package ollama

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"sekisho/internal/fault"
	"sekisho/internal/redact"
)

const maxHeaderValue = 8 << 10

// reservedHeaders frame the request; a credential in one of them would change what is sent.
var reservedHeaders = []string{"Host", "Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Connection", "Te", "Trailer", "Upgrade",
	"Accept-Encoding", "Proxy-Connection", "Keep-Alive", "Expect"}

func headerName(name string) error {
	if name == "" {
		return nil
	}
	for _, r := range name {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) {
			return fmt.Errorf("%q is no header name", name)
		}
	}
	if slices.Contains(reservedHeaders, http.CanonicalHeaderKey(name)) {
		return fmt.Errorf("%s belongs to the request itself", name)
	}
	return nil
}

// credential adds the configured header to req. The file is read at each call, so that a rotated value counts at once
// (A-OLL-09). The value is held as a redact.Secret until it is in the request; the mask takes it out of the answer.
func (c *Client) credential(req *http.Request) (*mask, error) {
	if c.cfg.HeaderValueFile == "" {
		return nil, nil
	}
	value, err := headerValue(c.cfg.HeaderValueFile)
	if err != nil {
		return nil, c.Fault(fault.OllamaCredentialRejected, fault.Variant("header_file"), fault.Target(c.cfg.HeaderValueFile), fault.Arg("detail", err), fault.Cause(err))
	}
	name := c.cfg.HeaderName
	if name == "" {
		name = "Authorization"
	}
	req.Header.Set(name, value.Reveal())
	return newMask(value), nil
}

// headerValue reads one line. Errors never quote the content.
func headerValue(path string) (redact.Secret, error) {
	f, err := openPrivate(path)
	if err != nil {
		return redact.Secret{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxHeaderValue+1))
	if err != nil {
		return redact.Secret{}, fmt.Errorf("reading the header value: %w", err)
	}
	if len(data) > maxHeaderValue {
		return redact.Secret{}, fmt.Errorf("the header value is longer than %d bytes", maxHeaderValue)
	}
	value := strings.TrimRight(string(data), "\r\n")
	if value == "" {
		return redact.Secret{}, fmt.Errorf("the header value is empty")
	}
	for i := range len(value) {
		if b := value[i]; b < ' ' && b != '\t' || b == 0x7f {
			return redact.Secret{}, fmt.Errorf("the header value holds a control character")
		}
	}
	return redact.New(value), nil
}
