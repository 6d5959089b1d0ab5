package ollama

import "strings"

var thinkTags = []struct {
	text string
	open bool
}{
	{"<think>", true}, {"</think>", false}, {"<thinking>", true}, {"</thinking>", false},
}

// splitThinking takes reasoning that leaked into content out of it (A-OLL-04): tagged blocks, everything before a closing
// tag whose opener was in the prompt, and an opened block that never ends when it starts the text or the answer was cut.
// An opener inside a finished text that nothing closes is quoted, not reasoning, and stays.
func splitThinking(content string, cut bool) (answer, thinking string) {
	var out, thought strings.Builder
	depth, opened := 0, 0 // opened: where the outermost open block's tag starts
	flush := func(s string) {
		if depth > 0 {
			thought.WriteString(s)
		} else {
			out.WriteString(s)
		}
	}
	thoughtBefore := 0 // length of thought when the outermost block was opened
	last := 0
	for i := 0; i < len(content); {
		n, open := thinkTag(content[i:])
		if n == 0 {
			i++
			continue
		}
		flush(content[last:i])
		switch {
		case open && depth == 0:
			opened, thoughtBefore, depth = i, thought.Len(), 1
		case open:
			depth++
		case depth > 0:
			depth--
		default: // the opener was in the prompt
			thought.WriteString(out.String())
			out.Reset()
		}
		i += n
		last = i
	}
	flush(content[last:])
	quoted := depth == 1 && thought.Len()-thoughtBefore == len(content)-last // no tag after the opener
	if quoted && !cut && strings.TrimSpace(out.String()) != "" {
		kept := thought.String()[:thoughtBefore]
		return strings.TrimSpace(out.String() + content[opened:]), kept
	}
	if thought.Len() == 0 && last == 0 {
		return content, ""
	}
	return strings.TrimSpace(out.String()), strings.TrimSpace(thought.String())
}

// thinkTag returns the length of the tag at the start of s, 0 for none. Case does not matter.
func thinkTag(s string) (n int, open bool) {
	if s[0] != '<' {
		return 0, false
	}
	for _, t := range thinkTags {
		if len(s) >= len(t.text) && strings.EqualFold(s[:len(t.text)], t.text) {
			return len(t.text), t.open
		}
	}
	return 0, false
}
