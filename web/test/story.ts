// A worker as far as its events go: it keeps the truth and tells about random changes of it, as the real one does.
import type { Card, CardState, Delta, Event, Item, Snapshot, ThreadHead, ThreadSummary } from "../src/contract";
import type { Random } from "./random";

const encoder = new TextEncoder();
const bytes = (s: string) => encoder.encode(s).length;
const words = ["a", "über ", "語", "🙂", "x\n", "word ", "‮", "longer piece of text "];

export const summary = (id: string, title = id): ThreadSummary => ({ id, shownTitle: title, shownCwd: "/w", status: { type: "idle" }, createdAt: 1, updatedAt: 2 });
export const head = (id: string, turn = ""): ThreadHead => ({ thread: summary(id), mode: "joined", older: false, turn });
export const emptySnapshot = (): Snapshot => ({
  version: 1, instance: "i", relay: "test", codex: "0.0.0", profiles: [], threads: [], moreThreads: false, open: [], cards: [], drafts: [], models: [], outcomes: [], notices: [],
  connection: { state: "connected", generation: 1, profile: "p", transport: "local", host: "local", preview: false },
});

export const card = (id: string, order: number, state: CardState): Card =>
  ({ id, order, kind: "command", state, shownThread: "t", place: { profile: "p", host: "h" }, thread: "t1" }) as Card;

export class Story {
  readonly threads = new Map<string, Item[]>();
  readonly cards: Card[] = [];
  #n = 0;
  #draft = new Map<string, number>();

  constructor(readonly random: Random) {}

  /** The next change, as one event. */
  next(): Event {
    const r = this.random;
    const open = [...this.threads.keys()];
    const id = open.length > 0 ? r.of(open) : "";
    switch (open.length === 0 ? 0 : r.below(14)) {
      case 0: {
        const fresh = "t" + r.below(4);
        if (!this.threads.has(fresh)) this.threads.set(fresh, []);
        return { kind: "window", body: { head: head(fresh), window: this.#window(fresh) } };
      }
      case 1:
        return { kind: "head", body: head(id, "turn" + this.#n++) };
      case 2: {
        this.cards.push(card("c" + this.cards.length, this.cards.length + 1, "pending"));
        return { kind: "card", body: this.cards.at(-1)! };
      }
      case 3: {
        const i = this.cards.findIndex((x) => x.state === "pending" && r.below(2) === 0);
        const c = this.cards[i];
        if (!c) break;
        this.cards[i] = { ...c, state: r.of<CardState>(["answered", "resolved", "generation_ended"]) };
        return { kind: "card", body: this.cards[i] };
      }
      case 4: {
        const revision = (this.#draft.get(id) ?? 0) + 1;
        this.#draft.set(id, revision);
        return { kind: "draft", body: { thread: id, text: r.of(words), revision } };
      }
      case 5:
        return { kind: "threads", body: { threads: [summary("t" + r.below(9), "n" + this.#n++)], more: false, upsert: true } };
      case 6:
      case 7: {
        const items = this.threads.get(id)!, item: Item = { id: "i" + this.#n++, turn: "u", type: r.of(["agentMessage", "reasoning"]), status: "running" };
        const after = items.at(-1)?.id ?? "";
        items.push(item);
        return { kind: "item", body: { thread: id, after, item } };
      }
      case 8: {
        const items = this.threads.get(id)!, i = items.findIndex((x) => x.status === "running"), item = items[i];
        if (!item) break;
        const done: Item = { ...item, status: "done" };
        items[i] = done;
        return { kind: "item", body: { thread: id, after: items[i - 1]?.id ?? "", item: done } };
      }
    }
    return this.#delta(id);
  }

  #delta(id: string): Event {
    const items = this.threads.get(id) ?? [], i = items.findLastIndex((x) => x.status === "running"), item = items[i];
    if (!item) return { kind: "notice", body: { id: ++this.#n, kind: "warning", atMs: 1 } };
    const text = Array.from({ length: 1 + this.random.below(4) }, () => this.random.of(words)).join("");
    const d: Delta = { thread: id, turn: item.turn, item: item.id, of: "text", part: 0, text, bytes: 0 };
    if (item.type === "reasoning") {
      d.of = this.random.of(["summary", "content"]);
      d.part = this.random.below(3);
      const list = [...((d.of === "summary" ? item.reasoning : item.content) ?? [])];
      while (list.length <= d.part) list.push({ text: "" });
      list[d.part] = { text: list[d.part]!.text + text };
      d.bytes = bytes(list[d.part]!.text);
      items[i] = { ...item, [d.of === "summary" ? "reasoning" : "content"]: list };
    } else {
      items[i] = { ...item, text: { text: (item.text?.text ?? "") + text } };
      d.bytes = bytes(items[i]!.text!.text);
    }
    return { kind: "delta", body: d };
  }

  #window(id: string) {
    const items = this.threads.get(id)!;
    return { first: 0, total: items.length, items: [...items] };
  }

  /** Everything as it is now. */
  snapshot(base: Snapshot): Snapshot {
    return { ...base, open: [...this.threads.keys()].sort().map((id) => ({ head: head(id), window: this.#window(id) })), cards: [...this.cards] };
  }
}
