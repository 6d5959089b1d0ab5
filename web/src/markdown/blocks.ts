// What of a text that still grows is finished: the blocks before its last one. Pure.

const fence = /^ {0,3}(`{3,}|~{3,})(.*)$/;

/**
 * Splits a text into finished runs of Markdown and a tail. The runs and the tail, one after the other, are the text; more
 * text never changes an earlier run. A run ends at an empty line outside a fence whose next line begins at the margin, so
 * that lists and quotations stay together.
 */
export function blocks(text: string): { done: string[]; tail: string } {
  const done: string[] = [];
  let from = 0, open: { mark: string; length: number } | undefined, empty = false;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    if (end < 0 && !open && !empty) break; // the line may go on
    const line = text.slice(at, end < 0 ? text.length : end);
    if (!open && empty && line.trim() !== "" && decided(line, end >= 0) && !/^(\s|[-*+>]|\d{1,9}[.)])/.test(line)) {
      done.push(text.slice(from, at));
      from = at;
    }
    if (end < 0) break;
    const m = fence.exec(line);
    if (open) {
      if (m && m[1]!.startsWith(open.mark) && m[1]!.length >= open.length && m[2]!.trim() === "") open = undefined;
    } else if (m && !(m[1]!.startsWith("`") && m[2]!.includes("`"))) open = { mark: m[1]![0]!, length: m[1]!.length };
    empty = line.trim() === "";
    at = end + 1;
  }
  return { done, tail: text.slice(from) };
}

/** Whether the beginning of a line says already that it is none of a list: digits may still become a number of one. */
function decided(line: string, whole: boolean): boolean {
  return whole || !/^\d{0,9}$/.test(line);
}
