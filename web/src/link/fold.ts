// Folds snapshots and events of the worker into the State that the page shows. Pure: no clock, no random, no effect.
import type { Card, CardState, Connection, Delta, Event, Excerpt, Item, ItemEvent, Profile, Snapshot, ThreadSummary, ThreadView, Window } from "../contract";
import type { OpenThread, State } from "./types";

/** Limits of what the page holds; the worker's window is 1,000 items and 16 MiB (R-REC-11). */
export const limits = { items: 1000, streamed: 64 << 10, settledCards: 200, outcomes: 500, notices: 200, threads: 5000 } as const;

/** An item whose text disagrees with the worker's: it is to be read again (contract: Delta). */
export interface Reread { thread: string; item: string }

const encoder = new TextEncoder();
const sizes = new WeakMap<Excerpt, number>();

/** Bytes of a whole text in UTF-8, what was left out included. */
export function bytesOf(e: Excerpt | undefined): number {
  if (!e) return 0;
  let n = sizes.get(e);
  if (n === undefined) {
    n = encoder.encode(e.text).length + (e.left ?? 0);
    sizes.set(e, n);
  }
  return n;
}

export function fromSnapshot(s: Snapshot): State {
  return {
    instance: s.instance, relay: s.relay, codex: s.codex, connection: s.connection, owner: s.owner, profiles: s.profiles, threads: s.threads, moreThreads: s.moreThreads,
    open: new Map(s.open.map((v) => [v.head.thread.id, opened(v, undefined)])), cards: s.cards, drafts: new Map(s.drafts.map((d) => [d.thread, d])), models: s.models,
    outcomes: s.outcomes, notices: s.notices, syncFailed: new Map(),
  };
}

/**
 * One event. Without a state only a snapshot counts. What is older than what is held changes nothing: the same object
 * comes back. rereads collects the items whose text no longer fits.
 */
export function fold(state: State | undefined, e: Event, rereads: Reread[]): State | undefined {
  if (e.kind === "snapshot") return fromSnapshot(e.body);
  if (!state) return undefined;
  switch (e.kind) {
    case "connection":
      return e.body.generation < state.connection.generation ? state : { ...state, connection: e.body, profiles: chosen(state.profiles, e.body) };
    case "owner":
      return state.owner && e.body.epoch < state.owner.epoch ? state : { ...state, owner: e.body };
    case "threads":
      return { ...state, moreThreads: e.body.more, threads: e.body.upsert ? upsert(state.threads, e.body.threads) : e.body.threads };
    case "threadGone":
      return { ...close(state, e.body.thread), threads: state.threads.filter((t) => t.id !== e.body.thread) };
    case "threadClosed":
      return close(state, e.body.thread);
    case "head":
      return change(state, e.body.thread.id, (t) => ({ ...t, head: e.body }));
    case "window":
      return { ...withOpen(state, e.body.head.thread.id, opened(e.body, state.open.get(e.body.head.thread.id))), syncFailed: without(without(state.syncFailed, e.body.head.thread.id), "") };
    case "item":
      return change(state, e.body.thread, (t) => withItem(t, e.body));
    case "delta":
      return change(state, e.body.thread, (t) => grown(t, e.body, rereads));
    case "card":
      return { ...state, cards: withCard(state.cards, e.body) };
    case "draft": {
      const held = state.drafts.get(e.body.thread);
      return held && held.revision >= e.body.revision ? state : { ...state, drafts: new Map(state.drafts).set(e.body.thread, e.body) };
    }
    case "models":
      return { ...state, models: e.body.models };
    case "outcome":
      return { ...state, outcomes: replaced(state.outcomes, e.body, (o) => o.operation === e.body.operation).slice(-limits.outcomes) };
    case "notice":
      return state.notices.some((n) => n.id >= e.body.id) ? state : { ...state, notices: [...state.notices, e.body].slice(-limits.notices) };
    case "syncFailed":
      return { ...state, syncFailed: new Map(state.syncFailed).set(e.body.thread ?? "", e.body) };
  }
}

/** A connection tells which profile is chosen; and an attempt, that it is enabled. */
function chosen(list: readonly Profile[], c: Connection): readonly Profile[] {
  const next = list.map((p) => {
    const selected = p.name === c.profile, enabled = p.enabled || (selected && c.state !== "offline");
    return p.selected === selected && p.enabled === enabled ? p : { ...p, selected, enabled };
  });
  return next.every((p, i) => p === list[i]) ? list : next;
}

/** Puts a run of older items, as window.read gave it, in front of those that are held. */
export function prepend(state: State, thread: string, before: string, w: Window): State {
  return change(state, thread, (t) => {
    if (t.items[0]?.id !== before) return t;
    const held = new Set(t.items.map((i) => i.id));
    const items = [...w.items.filter((i) => !held.has(i.id)), ...t.items];
    return { ...t, items, first: w.first, total: w.first + items.length };
  });
}

/** Takes in an item that was read again, unless what is held is further. */
export function reread(state: State, thread: string, item: Item): State {
  return change(state, thread, (t) => {
    const i = t.items.findIndex((o) => o.id === item.id);
    const held = t.items[i];
    if (!held || older(item, held)) return t;
    return { ...t, items: t.items.with(i, bounded(item)) };
  });
}

function withOpen(state: State, id: string, t: OpenThread): State {
  return { ...state, open: new Map(state.open).set(id, t) };
}

function change(state: State, id: string, f: (t: OpenThread) => OpenThread): State {
  const t = state.open.get(id);
  if (!t) return state;
  const next = f(t);
  return next === t ? state : withOpen(state, id, next);
}

function close(state: State, id: string): State {
  return state.open.has(id) ? { ...state, open: without(state.open, id) } : state;
}

function without<V>(map: ReadonlyMap<string, V>, key: string): ReadonlyMap<string, V> {
  if (!map.has(key)) return map;
  const next = new Map(map);
  next.delete(key);
  return next;
}

/** A window replaces what is held. Older items that were read before stay in front when it still joins on to them. */
function opened(v: ThreadView, held: OpenThread | undefined): OpenThread {
  const w = v.window;
  let items: readonly Item[] = w.items, first = w.first;
  const k = held && w.items[0] ? held.items.findIndex((i) => i.id === w.items[0]!.id) : -1;
  if (held && k > 0 && k <= w.first) {
    items = [...held.items.slice(0, k), ...w.items];
    first = w.first - k;
  }
  return { head: v.head, first, total: first + items.length, items };
}

function withItem(t: OpenThread, e: ItemEvent): OpenThread {
  const i = t.items.findIndex((o) => o.id === e.item.id);
  const held = t.items[i];
  if (held) return older(e.item, held) ? t : { ...t, items: t.items.with(i, bounded(e.item)) };
  const after = e.after === "" ? -1 : t.items.findIndex((o) => o.id === e.after);
  if (after < 0 && t.first > 0) return t; // its place is before what is held: it comes when that is read
  const at = after < 0 && e.after !== "" ? t.items.length : after + 1;
  const all = [...t.items.slice(0, at), bounded(e.item), ...t.items.slice(at)];
  const drop = Math.max(0, all.length - limits.items);
  const first = t.first + drop;
  return { ...t, items: all.slice(drop), first, total: first + all.length - drop };
}

const settledItem = (i: Item) => i.status !== "running";

/** Whether what arrives is older than what is held: a completed item stays completed, a text never gets shorter while it runs. */
function older(arrives: Item, held: Item): boolean {
  if (settledItem(held)) return !settledItem(arrives) || (arrives.status === "abandoned" && held.status !== "abandoned");
  return !settledItem(arrives) && textBytes(arrives) < textBytes(held);
}

function textBytes(i: Item): number {
  let n = bytesOf(i.text);
  for (const e of i.reasoning ?? []) n += bytesOf(e);
  for (const e of i.content ?? []) n += bytesOf(e);
  return n;
}

const maxParts = 1001;

function grown(t: OpenThread, d: Delta, rereads: Reread[]): OpenThread {
  const i = t.items.findLastIndex((o) => o.id === d.item);
  const item = t.items[i];
  if (!item) {
    if (t.first === 0) rereads.push({ thread: d.thread, item: d.item });
    return t;
  }
  if (settledItem(item) || d.part < 0 || d.part >= maxParts) return t;
  const list = d.of === "summary" ? item.reasoning : d.of === "content" ? item.content : undefined;
  const held = d.of === "text" ? item.text : list?.[d.part];
  const next = appended(held, d);
  if (next === held) return t;
  if (!next) {
    rereads.push({ thread: d.thread, item: d.item });
    return t;
  }
  let changed: Item;
  if (d.of === "text") changed = { ...item, text: next };
  else {
    const parts = [...(list ?? [])];
    while (parts.length <= d.part) parts.push({ text: "" });
    parts[d.part] = next;
    changed = d.of === "summary" ? { ...item, reasoning: parts } : { ...item, content: parts };
  }
  return { ...t, items: t.items.with(i, changed) };
}

/** held with the delta behind it; held itself when it has that already; undefined when something is missing between. */
function appended(held: Excerpt | undefined, d: Delta): Excerpt | undefined {
  const have = bytesOf(held), bytes = encoder.encode(d.text);
  if (d.bytes <= have) return held;
  const begins = d.bytes - bytes.length;
  if (begins > have || (held?.left && !held.tail)) return undefined;
  const text = begins === have ? d.text : new TextDecoder().decode(bytes.subarray(have - begins));
  return tail({ text: (held?.text ?? "") + text, ...(held?.left ? { left: held.left, tail: true } : {}) }, d.bytes);
}

/** The end of a text that may be kept while it streams. */
function tail(e: Excerpt, total: number): Excerpt {
  let text = e.text;
  if (text.length > limits.streamed) {
    text = text.slice(-limits.streamed);
    if (/^[\udc00-\udfff]/.test(text)) text = text.slice(1); // half a character
    e = { text, left: total - encoder.encode(text).length, tail: true };
  }
  sizes.set(e, total);
  return e;
}

/** An item that runs keeps the end of its texts only, whichever way they came. */
function bounded(i: Item): Item {
  if (settledItem(i)) return i;
  const cut = (e: Excerpt) => (e.text.length > limits.streamed && !(e.left && !e.tail) ? tail(e, bytesOf(e)) : e);
  const out: Item = { ...i };
  if (i.text) out.text = cut(i.text);
  if (i.reasoning) out.reasoning = i.reasoning.map(cut);
  if (i.content) out.content = i.content.map(cut);
  return out;
}

function upsert(list: readonly ThreadSummary[], news: readonly ThreadSummary[]): readonly ThreadSummary[] {
  let out = list;
  for (const t of news) out = replaced(out, t, (o) => o.id === t.id);
  return out.slice(0, limits.threads);
}

/** list with x in the place of the element that is found, or at the end. */
function replaced<T>(list: readonly T[], x: T, found: (x: T) => boolean): readonly T[] {
  const i = list.findIndex(found);
  return i < 0 ? [...list, x] : list.with(i, x);
}

const waiting: Record<CardState, boolean> = {
  pending: true, answering: true, answered: false, outcome_unknown: false, resolved: false, closed: false, expired: false, generation_ended: false, refused: false,
};

function withCard(cards: readonly Card[], c: Card): readonly Card[] {
  const i = cards.findIndex((o) => o.id === c.id), held = cards[i];
  if (held) return !waiting[held.state] && waiting[c.state] ? cards : cards.with(i, c); // what ended never waits again
  const all = [...cards, c].sort((a, b) => a.order - b.order);
  let over = all.filter((o) => !waiting[o.state]).length - limits.settledCards;
  return over <= 0 ? all : all.filter((o) => waiting[o.state] || over-- <= 0);
}
