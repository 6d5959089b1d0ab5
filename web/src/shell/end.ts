// What ends the connection or makes another one. Whatever would take something from a person is confirmed first.
import { signal } from "@preact/signals";
import { dialog, link } from "../state/page";
import { attempt, ofConnection } from "../state/trouble";
import { nothing, stakeOf } from "./stake";

export type End = { kind: "reconnect" } | { kind: "disconnect" } | { kind: "connect"; profile: string; enable?: true };

/** What waits to be confirmed. */
export const ending = signal<End | undefined>(undefined);

const under = new Set<string>();

export function end(e: End): void {
  const s = link().state.peek();
  if (s && !nothing(stakeOf(s))) ending.value = e;
  else void endNow(e);
}

export async function endNow(e: End): Promise<void> {
  ending.value = undefined;
  const { kind, ...params } = e, name = JSON.stringify(e);
  if (under.has(name)) return;
  under.add(name);
  const done = await attempt(ofConnection, kind, params);
  under.delete(name);
  if (done && kind === "connect" && dialog.peek() === "profiles") dialog.value = "";
}
