// Sending a message: one operation for each press of the button. Nothing is sent a second time by itself; what could not be
// told stays in the message box or becomes an "outcome unknown" block.
import { signal } from "@preact/signals";
import { ask, current, link, opened, show } from "../state/page";
import { peekText, sent, setText } from "../state/drafts";
import { attempt, trouble, troubleOf } from "../state/trouble";

/** What a person chose for the next turn of a thread; empty inherits. */
export interface Next {
  model?: string;
  effort?: string;
}

/** How a new thread begins; empty is the server's own setting. */
export interface Fresh {
  cwd?: string;
  approvalPolicy?: string;
  sandbox?: string;
}

export const sending = signal<ReadonlySet<string>>(new Set());
export const next = signal<ReadonlyMap<string, Next>>(new Map());
export const fresh = signal<Fresh>({});

export function chooseNext(thread: string, n: Next): void {
  next.value = new Map(next.peek()).set(thread, n);
}

function busy(thread: string, on: boolean): void {
  const now = new Set(sending.peek());
  if (on) now.add(thread);
  else now.delete(thread);
  sending.value = now;
}

/** The model and effort as parameters of a turn. */
function turn(n: Next): { model?: string; effort?: string } {
  return { ...(n.model ? { model: n.model } : {}), ...(n.effort ? { effort: n.effort } : {}) };
}

/** Sends what is in the message box of a thread; "" begins a thread first. */
export async function sendDraft(thread: string): Promise<void> {
  const text = peekText(thread);
  if (text.trim() === "" || sending.peek().has(thread)) return;
  const chosen = next.peek().get(thread) ?? {};
  if (thread !== "") {
    await send(thread, text, chosen);
    return;
  }
  const owner = link().state.peek()?.owner?.epoch;
  busy("", true);
  trouble("", undefined);
  const f = fresh.peek();
  const r = await ask("thread.start", { ...(f.cwd ? { cwd: f.cwd } : {}), ...(f.approvalPolicy ? { approvalPolicy: f.approvalPolicy } : {}), ...(f.sandbox ? { sandbox: f.sandbox } : {}), ...(chosen.model ? { model: chosen.model } : {}) }, owner === undefined ? {} : { owner });
  busy("", false);
  if (!r.done || !r.value) {
    trouble("", troubleOf(r, "send"));
    return;
  }
  const id = r.value.thread;
  // Text and choice move to the thread that exists now, so that they are there if the message is not taken, with what was written since.
  setText(id, peekText("") || text);
  setText("", "");
  chooseNext(id, next.peek().get("") ?? {});
  chooseNext("", {});
  if (current.peek() === "") await show(id, { begun: true });
  await send(id, text, chosen, owner);
}

/** Sends one message. It is about the owner whose thread was on the screen when it was asked for. */
export async function send(thread: string, text: string, n: Next, owner = link().state.peek()?.owner?.epoch): Promise<void> {
  if (sending.peek().has(thread)) return;
  busy(thread, true);
  trouble(thread, undefined);
  const r = await ask("turn.send", { thread, text, ...turn(n) }, owner === undefined ? {} : { owner });
  busy(thread, false);
  if (r.done) {
    sent(thread, text);
    if (next.peek().get(thread) === n) chooseNext(thread, {}); // the thread goes on with it by itself; what was chosen since is for the turn after
    return;
  }
  if (r.status === "unknown") sent(thread, text); // the text stands in its own block now
  trouble(thread, troubleOf(r, "send"));
}

/** Puts a text into the message box of a thread, after what is there. */
export function edit(thread: string, text: string): void {
  const old = peekText(thread);
  setText(thread, old.trim() === "" ? text : old.replace(/\s*$/, "\n\n") + text);
  const box = document.getElementById("composer");
  if (box instanceof HTMLTextAreaElement) {
    box.focus();
    box.setSelectionRange(box.value.length, box.value.length);
  }
}

export async function interrupt(): Promise<void> {
  const thread = current.peek();
  const head = opened.peek()?.head;
  if (!head || (head.turnStatus !== "running" && !head.waits)) return;
  await attempt(thread, "turn.interrupt", { thread });
}
