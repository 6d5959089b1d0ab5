// The rows of a transcript: the items of the worker's window, then what belongs to the end of it. Pure.
import type { Card, Item, Notice, Outcome, ThreadHead } from "../contract";
import { grouped } from "./notices";

export type Row =
  | { id: string; kind: "item"; item: Item; turn?: { at?: number }; cards: readonly Card[]; outcome?: Outcome }
  | { id: string; kind: "plan"; steps: NonNullable<ThreadHead["plan"]> }
  | { id: string; kind: "turnError"; shown: string }
  | { id: string; kind: "outcome"; outcome: Outcome }
  | { id: string; kind: "card"; card: Card }
  | { id: string; kind: "notice"; notice: Notice; times: number };

export interface Source {
  head: ThreadHead;
  items: readonly Item[];
  cards: readonly Card[];
  outcomes: readonly Outcome[];
  notices: readonly Notice[];
}

const none: readonly Card[] = [];

/** rows keeps the identity of the rows of before that say the same, so that they are not drawn again. */
export function rows(s: Source, before: readonly Row[] = []): Row[] {
  const old = new Map(before.map((r) => [r.id, r]));
  const thread = s.head.thread.id;
  const byItem = new Map<string, Card[]>();
  const loose: Card[] = [];
  const held = new Set(s.items.map((i) => i.id));
  for (const c of s.cards) {
    if (c.thread !== thread) continue;
    if (c.item && held.has(c.item)) byItem.set(c.item, [...(byItem.get(c.item) ?? []), c]);
    else loose.push(c);
  }
  const byOperation = new Map(s.outcomes.filter((o) => o.thread === thread).map((o) => [o.operation, o]));
  const out: Row[] = [];
  const add = (r: Row) => out.push(same(old.get(r.id), r));
  let last: string | undefined;
  for (const item of s.items) {
    const outcome = item.operation ? byOperation.get(item.operation) : undefined;
    add({
      id: item.id, kind: "item", item, cards: byItem.get(item.id) ?? none,
      ...(item.turn !== last ? { turn: item.turnAt ? { at: item.turnAt } : {} } : {}),
      ...(outcome ? { outcome } : {}),
    });
    last = item.turn;
  }
  // What the server listed as a plan of the last turn.
  if (s.head.plan && s.head.plan.length > 0) add({ id: "plan:", kind: "plan", steps: s.head.plan });
  if (s.head.turnStatus === "failed") add({ id: "error:" + (s.head.turn ?? ""), kind: "turnError", shown: s.head.shownTurnError ?? "" }); // also when the server does not say why
  // A request about no item that is here: shown where the transcript ends, as long as it is open or of the last turn.
  for (const c of loose) if (c.state === "pending" || c.state === "answering" || !c.turn || c.turn === s.head.turn) add({ id: "card:" + c.id, kind: "card", card: c });
  // A flood of errors is no transcript: the details say how many there were.
  for (const n of grouped(s.notices.filter((n) => n.thread === thread && n.kind === "error"), 5).said) add({ id: "notice:" + n.notice.id, kind: "notice", ...n });
  const shown = new Set(s.items.map((i) => i.operation));
  for (const o of byOperation.values()) {
    if (o.kind === "turn.send" && o.text && (o.state === "outcomeUnknown" || o.state === "notSent" || (o.state === "sent" && !shown.has(o.operation)))) {
      if (o.state === "notSent" && !o.rejected) continue; // its text never left the message box
      add({ id: "outcome:" + o.operation, kind: "outcome", outcome: o });
    }
  }
  return out;
}

function same(a: Row | undefined, b: Row): Row {
  if (!a || a.kind !== b.kind) return b;
  switch (b.kind) {
    case "item":
      return a.kind === "item" && a.item === b.item && a.outcome === b.outcome && a.turn?.at === b.turn?.at && !a.turn === !b.turn && a.cards.length === b.cards.length && a.cards.every((c, i) => c === b.cards[i]) ? a : b;
    case "plan":
      return a.kind === "plan" && a.steps === b.steps ? a : b;
    case "turnError":
      return a.kind === "turnError" && a.shown === b.shown ? a : b;
    case "outcome":
      return a.kind === "outcome" && a.outcome === b.outcome ? a : b;
    case "card":
      return a.kind === "card" && a.card === b.card ? a : b;
    case "notice":
      return a.kind === "notice" && a.notice === b.notice && a.times === b.times ? a : b;
  }
}

/** A first guess of a row's height in CSS px; it is measured as soon as it is drawn. */
export function estimate(r: Row): number {
  if (r.kind !== "item") return 72;
  const i = r.item;
  const head = r.turn ? 76 : 40;
  switch (i.type) {
    case "userMessage":
    case "agentMessage":
    case "plan":
      return head + 21 * Math.ceil(lines(i.text?.text ?? "", 90));
    case "reasoning":
      return head;
    case "commandExecution":
      return i.command?.exitCode ? head + 60 + Math.min(320, 20 * lines(i.text?.text ?? "", 100)) : head;
    case "fileChange":
      return head + 40 + 20 * lines(i.files?.[0]?.diff.text ?? "", 1000);
  }
  return head;
}

function lines(s: string, width: number): number {
  let n = 0;
  for (const l of s.split("\n")) n += Math.max(1, Math.ceil(l.length / width));
  return n;
}

export interface DiffLine {
  kind: "ins" | "del" | "hunk" | "ctx";
  text: string;
}

/** diff reads the lines of a change. What is added or deleted whole comes as the file's text, without marks. */
export function diff(kind: string, text: string): DiffLine[] {
  const all = text.split("\n");
  if (all[all.length - 1] === "") all.pop();
  if ((kind === "add" || kind === "delete") && !all.some((l) => l.startsWith("@@"))) {
    return all.map((l) => ({ kind: kind === "add" ? "ins" : "del", text: l }));
  }
  let inHunk = false;
  const out: DiffLine[] = [];
  for (const l of all) {
    if (l.startsWith("@@")) {
      inHunk = true;
      out.push({ kind: "hunk", text: l });
    } else if (!inHunk && /^(---|\+\+\+) /.test(l)) {
      out.push({ kind: "hunk", text: l });
    } else if (l.startsWith("+")) out.push({ kind: "ins", text: l.slice(1) });
    else if (l.startsWith("-")) out.push({ kind: "del", text: l.slice(1) });
    else if (l.startsWith("\\")) out.push({ kind: "hunk", text: l });
    else out.push({ kind: "ctx", text: l.startsWith(" ") ? l.slice(1) : l });
  }
  return out;
}

/** What an MCP tool returned: one content part per line, as JSON. A part that is cut or unknown is shown as it is. */
export type Part = { kind: "text"; text: string } | { kind: "image"; mime: string; bytes: number } | { kind: "audio"; mime: string; bytes: number } | { kind: "raw"; text: string };

export function parts(result: string): Part[] {
  return result.split("\n").filter((l) => l !== "").map((line): Part => {
    let p: Record<string, unknown>;
    try {
      p = JSON.parse(line) as Record<string, unknown>;
    } catch {
      const cut = /^\{"type":"(image|audio)"/.exec(line);
      return cut ? { kind: cut[1] as "image", mime: "", bytes: 0 } : { kind: "raw", text: line };
    }
    if (p["type"] === "text" && typeof p["text"] === "string") return { kind: "text", text: p["text"] };
    if ((p["type"] === "image" || p["type"] === "audio") && typeof p["data"] === "string") {
      return { kind: p["type"], mime: typeof p["mimeType"] === "string" ? p["mimeType"] : "", bytes: Math.floor((p["data"].length * 3) / 4) };
    }
    return { kind: "raw", text: line };
  });
}
