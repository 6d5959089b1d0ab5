// Texts that are being written, one per thread ("" is a thread that does not exist yet). They live here and in the worker:
// the page's copy survives a lost worker, the worker's a reload. Nothing of them is stored on disk.
//
// Two tabs may write in one draft. What one of them writes on top of what it knows is the same text going on; when they wrote at
// once, the later text stands in both message boxes and the other one is set aside in every tab that had it.
//
// A text belongs to the owner under whom it was written. When another owner comes, it is set aside: shown for copying, never
// put into a message box of somebody else.
import { computed, effect, signal } from "@preact/signals";
import type { Draft, Owner } from "../contract";
import type { State } from "../link/types";
import { link } from "./page";

interface Local {
  text: string;
  revision: number;
  /** The revision that the worker has, as far as is known. */
  kept: number;
  /** The last revision of the worker's that the text goes on from. */
  base: number;
  /** Revisions above base that were told to the worker from here: they may come back, and are nobody else's. */
  told: readonly number[];
}

/** A text that stands in no message box any more: another owner's, or one that lost against another tab's. */
export interface Aside {
  id: number;
  thread: string;
  text: string;
  why: "owner" | "tabs";
}

const locals = signal<ReadonlyMap<string, Local>>(new Map());
export const aside = signal<readonly Aside[]>([]);

/** Who wrote what is in locals; the epoch changes with every connection, the owner does not. */
let writer: string | undefined;
let epoch: number | undefined;
let asideId = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

const name = (o: Owner) => JSON.stringify([o.profile, o.account, o.root]);

export const textOf = (thread: string) => computed(() => locals.value.get(thread)?.text ?? "");

export function peekText(thread: string): string {
  return locals.peek().get(thread)?.text ?? "";
}

export function setText(thread: string, text: string): void {
  const old = locals.peek().get(thread);
  if (old?.text === text) return;
  put(thread, { text, revision: Math.max(Date.now(), (old?.revision ?? 0) + 1), kept: old?.kept ?? 0, base: old?.base ?? 0, told: old?.told ?? [] });
  later(250);
}

/** Empties the box after its text was sent, unless the person has gone on writing. */
export function sent(thread: string, text: string): void {
  if (peekText(thread) === text) setText(thread, "");
}

export function dropAside(id: number): void {
  aside.value = aside.value.filter((a) => a.id !== id);
}

/** Puts a text that was set aside behind the draft of its thread. */
export function takeBack(a: Aside): void {
  if (a.why !== "tabs") return;
  const now = peekText(a.thread);
  setText(a.thread, now.trim() === "" ? a.text : now.replace(/\s*$/, "\n\n") + a.text);
  dropAside(a.id);
}

/** Keeps a text that is nowhere else: not in what stands now, and not set aside already. */
function keep(thread: string, text: string, stands: string): void {
  if (text.trim() === "" || stands.includes(text.trim()) || aside.peek().some((a) => a.thread === thread && a.text.includes(text.trim()))) return;
  aside.value = [...aside.peek(), { id: ++asideId, thread, text, why: "tabs" }];
}

/** The worker has had a revision. */
function since(l: Local, revision: number): Local {
  const base = Math.max(l.base, revision);
  return { ...l, base, told: l.told.filter((r) => r > base) };
}

function put(thread: string, l: Local): void {
  locals.value = new Map(locals.peek()).set(thread, l);
}

function later(ms: number): void {
  timer ??= setTimeout(() => {
    timer = undefined;
    void flush();
  }, ms);
}

let telling = false, more = false;

/** Gives the worker what it does not have, one telling after the other, so that each goes on from the one before. */
async function flush(): Promise<void> {
  if (telling) {
    more = true;
    return;
  }
  telling = true;
  try {
    await tell();
  } finally {
    telling = false;
    if (more) later(0);
    more = false;
  }
}

/** Whatever fails is tried again when the link or the owner is back. */
async function tell(): Promise<void> {
  const s = link().state.peek();
  if (link().phase.peek().name !== "live" || !s?.owner || name(s.owner) !== writer) return;
  for (const thread of [...locals.peek().keys()]) {
    const l = locals.peek().get(thread); // as it is now: a person goes on writing while another thread's text is on its way
    if (!l || l.kept >= l.revision) continue;
    const draft: Draft = { thread, text: l.text, revision: l.revision, ...(l.base > 0 ? { base: l.base } : {}) };
    put(thread, { ...l, told: [...l.told, l.revision] });
    try {
      const r = await link().command("draft.set", draft, { owner: s.owner.epoch });
      if (r.status !== "done") continue;
    } catch {
      return; // the next snapshot tries again
    }
    const now = locals.peek().get(thread);
    if (now && now.kept < l.revision) put(thread, since({ ...now, kept: l.revision }, l.revision));
  }
}

export function fold(s: State): void {
  if (s.owner) {
    const who = name(s.owner);
    if (writer !== undefined && writer !== who) {
      const left = [...locals.peek()].filter(([, l]) => l.text.trim() !== "").map(([thread, l]) => ({ id: ++asideId, thread, text: l.text, why: "owner" as const }));
      // What was set aside before was the earlier owner's, too: nothing of it goes into a box any more.
      aside.value = [...aside.peek().map((a) => ({ ...a, why: "owner" as const })), ...left];
      locals.value = new Map();
    } else if (epoch !== s.owner.epoch) {
      // A restarted worker has nothing.
      for (const [thread, l] of locals.peek()) put(thread, { ...l, kept: 0 });
    }
    writer = who;
    epoch = s.owner.epoch;
  }
  for (const d of s.drafts.values()) {
    const l = locals.peek().get(d.thread);
    const taken = { text: d.text, revision: d.revision, kept: d.revision, base: d.revision, told: [] };
    if (!l) put(d.thread, taken);
    else if (d.revision > l.revision || (d.revision === l.revision && d.text !== l.text)) {
      if ((d.base ?? 0) < l.revision) keep(d.thread, l.text, d.text); // its writer did not know this one
      put(d.thread, taken);
    } else if (d.revision === l.revision) {
      if (l.kept < d.revision) put(d.thread, since({ ...l, kept: d.revision }, d.revision));
    } else if (d.revision > l.base) {
      // Not from here, then what is here did not know it, and stands instead of it.
      if (!l.told.includes(d.revision)) keep(d.thread, d.text, l.text);
      put(d.thread, since(l, d.revision));
    }
  }
  for (const [, l] of locals.peek()) if (l.kept < l.revision) later(0);
}

export function startDrafts(): void {
  effect(() => {
    const s = link().state.value;
    if (s && link().phase.value.name === "live") fold(s);
  });
  // What was typed in the last moment goes out before the tab is put away.
  addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") void tell();
  });
  addEventListener("pagehide", () => void tell()); // whatever is on its way: there is no later
}
