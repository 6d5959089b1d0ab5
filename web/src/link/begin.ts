// What a page asks for before anything else of it is there: its key leaves the address, and the first snapshot, with the thread that
// the address or the tab's history names, is under way while the rest of the page is still being read.
import { exchange, restart, type Fetch, type Granted } from "./http";
import { load, takeAddress, type Session } from "./key";

/** What begin needs of the browser. */
export interface BeginEnv {
  fetch: Fetch;
  location: Pick<Location, "hash" | "pathname" | "origin">;
  history: Pick<History, "replaceState" | "state">;
  storage: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  crypto: Pick<Crypto, "getRandomValues">;
}

export interface Begun {
  /** The one-time key of the address. */
  readonly key: string | undefined;
  /** The thread that the address names. */
  readonly thread: string | undefined;
  /** The session that the tab had before. */
  readonly session: Session | undefined;
  /** Rejects with Refused. undefined: there is nobody to ask. */
  readonly first: Promise<Granted> | undefined;
}

/** A fresh operation id. */
export function operationID(crypto: Pick<Crypto, "getRandomValues">): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join("");
}

export function begin(env: BeginEnv): Begun {
  const { key, thread } = takeAddress(env.location, env.history);
  const before = (env.history.state as { thread?: unknown } | null)?.thread;
  const wanted = thread ?? (typeof before === "string" && before !== "" ? before : undefined);
  const start = wanted === undefined ? {} : { thread: wanted };
  // The question is on its way before the tab's storage is read: a browser asks another of its processes for that, and waits.
  const asked = key === undefined ? undefined : exchange(env.fetch, env.location.origin, key, start);
  const session = load(env.storage, env.location.origin);
  const first = asked ?? (session ? restart(env.fetch, session, operationID(env.crypto), start) : undefined);
  first?.catch(() => undefined); // the link judges it, when it is there
  return { key, thread, session, first };
}
