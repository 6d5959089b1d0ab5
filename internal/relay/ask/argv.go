package ask

import "strings"

// argv splits a command line that was joined by the rules of a POSIX shell. ok is false when it is not one that was
// joined: unfinished quotes, or characters outside quotes that a shell would act on. The whole line is shown in any case;
// the elements only help to read it.
func argv(line string) (elements []string, ok bool) {
	var b strings.Builder
	in := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if in {
				elements = append(elements, b.String())
				b.Reset()
				in = false
			}
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, false
			}
			b.WriteString(line[i+1 : i+1+end])
			i += end + 1
			in = true
		case '"':
			n, closed := doubleQuoted(line[i+1:], &b)
			if !closed {
				return nil, false
			}
			i += n
			in = true
		case '\\':
			if i+1 == len(line) {
				return nil, false
			}
			i++
			if line[i] != '\n' {
				b.WriteByte(line[i])
			}
			in = true
		case '|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '[', '#', '~', '!', '{', '}':
			return nil, false
		default:
			b.WriteByte(c)
			in = true
		}
	}
	if in {
		elements = append(elements, b.String())
	}
	return elements, len(elements) > 0
}

// doubleQuoted reads up to and with the closing quote and returns how many bytes it took.
func doubleQuoted(s string, b *strings.Builder) (n int, closed bool) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1, true
		case '$', '`':
			return 0, false
		case '\\':
			if i+1 == len(s) {
				return 0, false
			}
			i++
			if !strings.ContainsRune("$`\"\\\n", rune(s[i])) {
				b.WriteByte('\\')
			}
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return 0, false
}
