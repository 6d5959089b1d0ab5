package mcpserver

import (
	"bytes"
	"encoding/base64"
	"strconv"

	"sekisho/internal/agent"
)

// ImageLimits are mcp.images.* of the configuration: a count and sizes in bytes of the decoded image.
type ImageLimits struct {
	MaxCount      int
	MaxBytesEach  int
	MaxTotalBytes int
}

// checkImage decodes the Base64 text and compares the first bytes with the declared type (A-MCP-08). It returns the decoded
// size in bytes.
func checkImage(img agent.Image, limits ImageLimits) (int, error) {
	isKind, ok := magic[img.MIMEType]
	if !ok {
		return 0, invalid("mime_type", "reason.choice", map[string]string{"accepted": "image/png, image/jpeg, image/webp"})
	}
	// The length is checked before decoding, so that no oversized buffer is allocated.
	if base64.StdEncoding.DecodedLen(len(img.Data))-2 > limits.MaxBytesEach {
		return 0, invalid("data_base64", "reason.too_large", map[string]string{"limit": strconv.Itoa(limits.MaxBytesEach)})
	}
	data, err := base64.StdEncoding.Strict().DecodeString(img.Data)
	if err != nil || len(data) == 0 || bytes.ContainsAny([]byte(img.Data), "\r\n") {
		return 0, invalid("data_base64", "reason.base64", nil)
	}
	if len(data) > limits.MaxBytesEach {
		return 0, invalid("data_base64", "reason.too_large", map[string]string{"limit": strconv.Itoa(limits.MaxBytesEach)})
	}
	if !isKind(data) {
		return 0, invalid("data_base64", "reason.magic", map[string]string{"type": img.MIMEType})
	}
	return len(data), nil
}

// magic recognizes the accepted image types by their first bytes.
var magic = map[string]func([]byte) bool{
	"image/png":  func(b []byte) bool { return bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")) },
	"image/jpeg": func(b []byte) bool { return bytes.HasPrefix(b, []byte("\xff\xd8\xff")) },
	"image/webp": func(b []byte) bool {
		return len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP"
	},
}
