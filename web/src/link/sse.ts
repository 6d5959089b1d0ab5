// Reads server-sent events from a fetch body, as far as the worker sends them: id, data of one line, comments.

export interface SentEvent { id: string; data: string }

/** Characters of one line; a batch of the worker is far below it (contract: MaxStream). */
const maxLine = 64 << 20;

/** Splits chunks of text into events, however they are cut. */
export class EventParser {
  #rest: string[] = [];
  #held = 0;
  #id = "";
  #data: string | undefined;

  /** Returns the events that are complete with this chunk. */
  push(chunk: string): SentEvent[] {
    const events: SentEvent[] = [];
    for (let from = 0; ; ) {
      const end = chunk.indexOf("\n", from);
      if (end < 0) {
        this.#held += chunk.length - from;
        if (this.#held > maxLine) throw new Error("a line of the stream is too long");
        if (from < chunk.length) this.#rest.push(chunk.slice(from));
        return events;
      }
      const line = this.#rest.length > 0 ? this.#rest.join("") + chunk.slice(from, end) : chunk.slice(from, end);
      this.#rest = [];
      this.#held = 0;
      from = end + 1;
      this.#line(line, events);
    }
  }

  #line(line: string, events: SentEvent[]): void {
    if (line === "") {
      if (this.#data !== undefined) events.push({ id: this.#id, data: this.#data });
      this.#data = undefined;
    } else if (line.startsWith("id: ")) this.#id = line.slice(4);
    else if (line.startsWith("data: ")) this.#data = line.slice(6);
    // A comment shows that the stream lives; there are no other fields.
  }
}
