// What the page knows beside the worker's state: which thread it shows, which dialog is open. Slices of the state are signals
// of their own, so that a part is drawn again only when its own slice changed.
import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import type { Card, CommandKind, Commands, Problem, Result } from "../contract";
import { LinkError, type Link, type OpenThread, type State } from "../link/types";
import type { Renderer } from "../markdown/types";

let theLink: Link | undefined;
let theRenderer: Renderer | undefined;

export function usePage(link: Link, renderer: Renderer): void {
  theLink = link;
  theRenderer = renderer;
}

export function link(): Link {
  if (!theLink) throw new Error("the page has not been started");
  return theLink;
}

export function renderer(): Renderer {
  if (!theRenderer) throw new Error("the page has not been started");
  return theRenderer;
}

function slice<T>(pick: (s: State) => T, none: T): ReadonlySignal<T> {
  return computed(() => {
    const s = link().state.value;
    return s ? pick(s) : none;
  });
}

export const phase = computed(() => link().phase.value);
export const live = computed(() => phase.value.name === "live");
export const ready = computed(() => link().state.value !== undefined);
export const connection = slice((s) => s.connection, undefined);
export const owner = slice((s) => s.owner, undefined);
export const profiles = slice((s) => s.profiles, []);
export const threads = slice((s) => s.threads, []);
export const moreThreads = slice((s) => s.moreThreads, false);
export const models = slice((s) => s.models, []);
export const cards = slice((s) => s.cards, []);
export const outcomes = slice((s) => s.outcomes, []);
export const notices = slice((s) => s.notices, []);
export const drafts = slice<State["drafts"]>((s) => s.drafts, new Map());
export const relayVersion = slice((s) => s.relay, "");
export const codexVersion = slice((s) => s.codex, "");
export const syncFailed = slice<State["syncFailed"]>((s) => s.syncFailed, new Map());

export const connected = computed(() => live.value && connection.value?.state === "connected");

/** Requests that can be answered, in order of arrival. One that is being answered keeps its place. */
export const waiting = computed<readonly Card[]>(() => cards.value.filter((c) => c.state === "pending" || c.state === "answering"));

// ---------------------------------------------------------------- the thread that is shown

/** "" is the page for a new thread. */
export const current = signal("");
export const opened = computed<OpenThread | undefined>(() => link().state.value?.open.get(current.value));
export const opening = signal<{ thread: string; problem?: Problem; lost?: boolean } | undefined>(undefined);

let shownTo: string | undefined;

/** show goes to a thread, reading it if it is not open yet; that joins nothing. */
export async function show(thread: string, opts: { begun?: boolean } = {}): Promise<void> {
  // A thread is its owner's: the one that another owner left on the page is not asked for again (R-PRI-05).
  const o = link().state.peek()?.owner;
  const who = o && JSON.stringify([o.profile, o.account, o.root]);
  if (thread !== "" && thread === current.peek() && shownTo !== undefined && who !== undefined && who !== shownTo) thread = "";
  shownTo = who ?? shownTo;
  current.value = thread;
  panel.value = "";
  history.replaceState({ ...(history.state as object | null), thread }, "");
  opening.value = undefined;
  // One that was just begun is open already: the stream tells it in a moment.
  if (thread === "" || opts.begun || link().state.value?.open.has(thread)) return;
  opening.value = { thread };
  const r = await ask("thread.open", { thread });
  if (opening.peek()?.thread !== thread) return;
  opening.value = r.done ? undefined : { thread, ...(r.problem ? { problem: r.problem } : { lost: true }) };
}

/** Shows the thread that an address asks for, when it can be read. */
function showWanted(s: State): boolean {
  const id = link().wanted.value;
  if (id === undefined || (!s.open.has(id) && s.connection.state !== "connected")) return false;
  link().wanted.value = undefined;
  void show(id);
  return true;
}

/** Goes to the thread of the address, or back to the one that was shown before a reload, once; later to those of further addresses. */
export function startShowing(): void {
  let resumed = false;
  effect(() => {
    const s = link().state.value;
    if (!s) return;
    const first = !resumed;
    resumed = true;
    if (!showWanted(s) && first) resume(s);
  });
}

function resume(s: State): void {
  const before = (history.state as { thread?: unknown } | null)?.thread;
  if (typeof before === "string" && before !== "" && (s.open.has(before) || s.threads.some((t) => t.id === before))) {
    void show(before);
    return;
  }
  let last: OpenThread | undefined;
  for (const t of s.open.values()) if (!last || t.head.thread.updatedAt > last.head.thread.updatedAt) last = t;
  if (last && before === undefined) void show(last.head.thread.id);
}

/** A worker that was started anew, or another connection, has no thread open: the one that is shown is read again, once for each. */
export function startReopening(): void {
  let tried = "";
  const held = new Set<string>(); // a thread that was just begun is told in a moment; only what was there before is read again
  effect(() => {
    const s = link().state.value, id = current.value;
    if (s?.open.has(id)) held.add(id);
    if (!held.has(id) || !connected.value || !s?.owner || id === "" || s.open.has(id) || opening.peek()) return;
    const now = [s.instance, s.owner.epoch, s.connection.generation, id].join(" ");
    if (now === tried) return;
    tried = now;
    void show(id);
  });
}

// ---------------------------------------------------------------- commands

/** What became of a command. lost: nobody knows whether the worker got it. */
export type Reply<K extends CommandKind> =
  | { done: true; value: Commands[K]["value"]; problem?: undefined }
  | { done: false; status: Result["status"] | "lost"; problem: Problem | undefined };

export async function ask<K extends CommandKind>(kind: K, params: Commands[K]["params"], opts?: { operation?: string; owner?: number }): Promise<Reply<K>> {
  try {
    const r = await link().command(kind, params, opts);
    if (r.status === "done") return { done: true, value: r.value as Commands[K]["value"] };
    return { done: false, status: r.status, problem: r.problem };
  } catch (e) {
    if (e instanceof LinkError) return { done: false, status: e.kind === "refused" ? "refused" : "lost", problem: e.problem };
    throw e;
  }
}

// ---------------------------------------------------------------- parts of the page

export type DialogName = "" | "help" | "search" | "settings" | "connection" | "profiles" | "plain";
export const dialog = signal<DialogName>("");
/** Which side panel a narrow window shows. */
export const panel = signal<"" | "threads" | "details">("");
/** An address of the model's that a person clicked and has not confirmed. */
export const leaving = signal<string | undefined>(undefined);
/** The row that a search leads to. */
export const seek = signal<{ thread: string; item: string } | undefined>(undefined);
