// Escapes of text that others wrote, as internal/visible does it in Go; test/visible.test.ts judges both by the same vectors.
// Text of cards arrives escaped by the worker. This is for what arrives raw: messages, output, diffs.

const named: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };

// Control, format (bidi, zero width), private use, surrogates, unassigned; line and paragraph separators; and what prints as
// nothing although it is in none of these.
const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Variation_Selector}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u034f\u17b4\u17b5\u2800\ufffc\u{16fe4}\u{1d159}\\]/gu;

function escape(c: string): string {
  const known = named[c];
  if (known !== undefined) return known;
  const n = c.codePointAt(0) ?? 0;
  return n < 0x20 || n === 0x7f ? "\\x" + n.toString(16).padStart(2, "0") : "\\u{" + n.toString(16).padStart(4, "0") + "}";
}

const number = (c: string) => "\\u{" + (c.codePointAt(0) ?? 0).toString(16).padStart(4, "0") + "}";

// Combining marks as internal/visible/marks.go judges them: one that composes with what is before it, or belongs to the writing
// system of its letter, is ordinary; all others can strike out, cover or decorate any text.
const mark = /[\p{Mn}\p{Me}]/u, letter = /[\p{L}\p{Mc}]/u, anyWriting = /[\p{Script=Inherited}\p{Script=Common}]/u, arabic = /[\u064b-\u0655\u0670]/, maxMarks = 3;

/** The exact form of visible.Escape: one line, unambiguous. */
export function visible(s: string): string {
  if (!mark.test(s)) return s.replace(unseen, escape);
  let out = "", base = "", count = 0;
  for (const c of s) {
    const seen = c.replace(unseen, escape);
    if (!mark.test(c) || seen !== c) {
      if (!mark.test(c)) {
        base = letter.test(c) ? c : "";
        count = 0;
      }
      out += seen;
      continue;
    }
    const one = base === "" ? "" : (base + c).normalize("NFC");
    if (base !== "" && [...one].length === 1) base = one;
    else if (base === "" || ++count > maxMarks || (anyWriting.test(c) && !arabic.test(c))) {
      out += number(c);
      continue;
    }
    out += c;
  }
  return out;
}

// What can make a line of code or output read differently from what it is. Line feeds, tabs and backslashes are ordinary there.
const inCode = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
// Colours of a terminal say nothing here. Every other sequence stays and is shown.
const colours = /\u001b\[[0-9;:]*m/g;

/** Code, output and diffs: everything invisible is shown, but for line ends, tabs and colours. */
export function code(s: string): string {
  return s.replace(/\r\n/g, "\n").replace(colours, "").replace(inCode, (c) => (c === "\n" || c === "\t" ? c : escape(c)));
}

// Joiners and variation selectors belong to writing systems and emoji, so prose keeps them.
const inProse = /[\p{Cc}\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Running text: what reorders or hides text is shown. */
export function prose(s: string): string {
  return s.replace(/\r\n/g, "\n").replace(inProse, (c) => (c === "\n" || c === "\t" ? c : escape(c)));
}
