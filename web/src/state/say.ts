// Feeds the two live regions of the page.
import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { texts } from "../text";
import { Announcer, type Region } from "./announce";
import { list } from "./format";
import { cards, connection, opened, outcomes, phase, ready } from "./page";
import { settings } from "./settings";

export const polite = signal("");
export const alert = signal("");

const announcer = new Announcer(
  (region, text) => {
    const to = region === "alert" ? alert : polite;
    to.value = to.peek() === text ? text + "\u00a0" : text; // the same words again are news too
  },
  { now: () => performance.now(), after: (ms, f) => void setTimeout(f, ms) },
);

export function say(region: Region, text: string): void {
  announcer.say(region, text);
}

/** Says a text of a component when it appears or changes. There are no other live regions than the two of the page. */
export function useSay(region: Region, text: string): void {
  useEffect(() => {
    if (text !== "") say(region, text);
  }, [text]);
}

interface Turn {
  thread: string;
  id: string | undefined;
  status: string | undefined;
}

/** Whether a turn of the thread on the screen ended between two looks, also one that began after the first of them. */
export function turnEnded(before: Turn | undefined, now: Turn): boolean {
  if (!before || before.thread !== now.thread || !now.id || !now.status || now.status === "running") return false;
  return before.id !== now.id || before.status === "running";
}

/** Watches for what a person should hear without looking. Streaming text is never spoken. */
export function startSaying(): void {
  let known: ReadonlySet<string> | undefined;
  effect(() => {
    if (!ready.value) return;
    const now = new Set(cards.value.filter((c) => c.state === "pending").map((c) => c.id));
    const fresh = known ? [...now].filter((id) => !known?.has(id)).length : now.size;
    known = now;
    if (fresh > 0) say("alert", texts.peek().sayRequests(now.size));
  });
  let unknown: ReadonlySet<string> | undefined;
  effect(() => {
    if (!ready.value) return;
    const now = new Set(outcomes.value.filter((o) => o.state === "outcomeUnknown").map((o) => o.operation));
    if (unknown && [...now].some((id) => !unknown?.has(id))) say("alert", texts.peek().sayUnknown);
    unknown = now;
  });
  let state: string | undefined;
  let generation: number | undefined;
  effect(() => {
    const c = connection.value?.state;
    // A new connection is news even when what lay between was over before anybody saw it.
    const g = c === "connected" ? connection.value?.generation : generation;
    const renewed = g !== generation;
    generation = g;
    const p = phase.value.name;
    const now = p !== "live" && p !== "starting" ? p : c;
    if (state !== undefined && now !== undefined && (now !== state || (now === "connected" && renewed))) {
      if (now === "connected") say("polite", texts.peek().connConnected);
      else if (now === "waitingForManualReconnect") say("alert", texts.peek().connManual);
      else if (now === "lost" || now === "refused") say("alert", texts.peek().connWorkerLost);
    }
    if (now !== undefined) state = now;
  });
  let turn: Turn | undefined;
  effect(() => {
    const t = opened.value;
    const now = t && { thread: t.head.thread.id, id: t.head.turn, status: t.head.turnStatus };
    if (t && now && turnEnded(turn, now)) {
      const files = new Set(t.items.filter((i) => i.turn === now.id).flatMap((i) => (i.status === "done" ? i.files ?? [] : []).map((f) => f.shownPath))).size;
      const m = texts.peek();
      const end = now.status === "completed" ? m.sayTurnDone : now.status === "interrupted" ? m.sayTurnInterrupted : now.status === "failed" ? m.sayTurnFailed : m.sayTurnEnded;
      if (settings.peek().announce === "all" || now.status === "failed") say("polite", files > 0 ? list([end, m.sayFiles(files)]) : end);
    }
    turn = now;
  });
}
