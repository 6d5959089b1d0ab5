package filetx

import (
	"errors"
	"fmt"
	"strings"

	"sekisho/internal/strictjson"
)

// maxPatch bounds a patch's JSON text in bytes.
const maxPatch = 16 << 20

// Why a patch cannot be applied (A-TOOL-10).
var (
	errMalformed = errors.New("the patch is not a JSON object with exactly the members old_text and new_text, both strings")
	errDiff      = fmt.Errorf("%w; a unified diff is not accepted", errMalformed)
	errEmptyOld  = fmt.Errorf("%w; old_text must not be empty", errMalformed)
	errNoMatch   = errors.New("old_text does not occur in the file")
	errAmbiguous = errors.New("old_text occurs more than once")
	errEncoding  = errors.New("the file is neither UTF-8 nor marked as UTF-16, so only ASCII text between ASCII text can be replaced")
)

type patch struct {
	OldText *string `json:"old_text"`
	NewText *string `json:"new_text"`
}

// parsePatch reads A-TOOL-10's JSON text.
func parsePatch(s string) (oldText, newText string, err error) {
	var p patch
	if err := strictjson.Unmarshal([]byte(s), maxPatch, &p); err != nil {
		if looksLikeDiff(s) {
			return "", "", errDiff
		}
		return "", "", fmt.Errorf("%w: %w", errMalformed, err)
	}
	switch {
	case p.OldText == nil || p.NewText == nil:
		return "", "", errMalformed
	case *p.OldText == "":
		return "", "", errEmptyOld
	}
	return *p.OldText, *p.NewText, nil
}

func looksLikeDiff(s string) bool {
	for _, sign := range []string{"--- ", "+++ ", "@@ ", "diff ", "*** Begin Patch"} {
		if strings.HasPrefix(s, sign) || strings.Contains(s, "\n"+sign) {
			return true
		}
	}
	return false
}

// applyPatch replaces the one place where oldText stands. Line endings do not count for the match; the new lines end as
// the replaced ones did, or, where those had no line end, as most lines of the file do. Every other byte stays.
func applyPatch(old []byte, oldText, newText string) ([]byte, error) {
	d := read(old)
	if d.enc == unknown && !(ascii(oldText) && ascii(newText)) {
		return nil, errEncoding
	}
	flat, want := withEndings(d.text, lf), withEndings(oldText, lf)
	at := strings.Index(flat, want)
	if at < 0 {
		return nil, errNoMatch
	}
	if strings.Contains(flat[at+1:], want) { // an overlapping second place counts too
		return nil, errAmbiguous
	}
	start := rawOffset(d.text, at)
	end := start + rawOffset(d.text[start:], len(want))
	if d.enc == unknown && start > 0 && d.text[start-1] >= 0x80 {
		return nil, errEncoding // the match may begin with the second byte of a character
	}
	d.text = d.text[:start] + withEndings(newText, endingFor(d.text, d.text[start:end])) + d.text[end:]
	return d.bytes(), nil
}

// rawOffset is where the n-th byte of s without the CR of its CRLFs begins in s; for the LF of a CRLF that is the CR.
func rawOffset(s string, n int) int {
	i := 0
	for ; n > 0; n-- {
		if strings.HasPrefix(s[i:], crlf) {
			i++
		}
		i++
	}
	return i
}

func endingFor(whole, replaced string) string {
	lfs, crlfs := endings(replaced)
	if lfs == crlfs {
		lfs, crlfs = endings(whole)
	}
	if crlfs > lfs {
		return crlf
	}
	return lf
}
