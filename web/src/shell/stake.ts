// What the end of the connection would take from a person. Pure.
import type { State } from "../link/types";

export interface Stake {
  /** Threads with a turn that runs. */
  turns: number;
  /** Requests that can still be answered. */
  requests: number;
}

/**
 * A local server ends with its connection, and every turn that it runs with it. A remote one goes on; what ends there is following the
 * threads that were joined, and answering.
 */
export function stakeOf(s: State): Stake {
  if (s.connection.state !== "connected") return { turns: 0, requests: 0 };
  const running = new Set<string>();
  for (const [id, t] of s.open) if (!t.head.stale && t.head.turnStatus === "running" && (s.connection.transport === "local" || t.head.mode === "joined")) running.add(id);
  if (s.connection.transport === "local") for (const t of s.threads) if (t.status.type === "active") running.add(t.id);
  return { turns: running.size, requests: s.cards.filter((c) => c.state === "pending" || c.state === "answering").length };
}

export const nothing = (s: Stake): boolean => s.turns === 0 && s.requests === 0;
