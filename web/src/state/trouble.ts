// What a person asked for and did not get. It stays where they asked for it until they close it or ask again.
import { signal } from "@preact/signals";
import type { CommandKind, Commands, Problem } from "../contract";
import { ask, type Reply } from "./page";

export interface Trouble {
  problem?: Problem | undefined;
  status: "refused" | "failed" | "unknown" | "lost";
  /** What did not happen; without one the problem says it. */
  what?: "send" | "read";
}

/** By thread; and by these, of what concerns none. */
export const ofConnection = "\nconnection", ofList = "\nlist";

export const troubles = signal<ReadonlyMap<string, Trouble>>(new Map());

export function trouble(place: string, t: Trouble | undefined): void {
  const now = new Map(troubles.peek());
  if (t) now.set(place, t);
  else if (!now.delete(place)) return;
  troubles.value = now;
}

export function troubleOf<K extends CommandKind>(r: Reply<K>, what?: Trouble["what"]): Trouble {
  return { status: r.done || r.status === "done" ? "failed" : r.status, problem: r.problem, ...(what ? { what } : {}) };
}

/** Asks, and keeps what became of it if it was not done. */
export async function attempt<K extends CommandKind>(place: string, kind: K, params: Commands[K]["params"], what?: Trouble["what"]): Promise<boolean> {
  trouble(place, undefined);
  const r = await ask(kind, params);
  if (!r.done) trouble(place, troubleOf(r, what));
  return r.done;
}
