// Keys of this tab: the one-time key of an address, and the session that it is exchanged for (R-UI-01).

/** What the exchange gave, bound to the scheme, host and port that gave it. */
export interface Session {
  readonly origin: string;
  readonly session: string;
  readonly channel: string;
}

const pattern = /^[A-Za-z0-9_-]{43}$/;
const storageKey = "relaycodex.session";

/** What an address asks for: #KEY, #KEY&thread=ID or #thread=ID. */
export interface Asked {
  readonly key?: string;
  readonly thread?: string;
}

const threadPattern = /^thread=([A-Za-z0-9_-]{1,128})$/;

/** Reads an address of this origin, or a bare key. undefined: it is none of them. */
export function parseAddress(text: string, origin: string): Asked | undefined {
  const given = text.trim();
  if (pattern.test(given)) return { key: given };
  const [address, fragment, more] = given.split("#");
  if (more !== undefined || fragment === undefined || (address !== "" && address !== origin && address !== origin + "/")) return undefined;
  const [first = "", second, third] = fragment.split("&");
  const thread = threadPattern.exec(second ?? first)?.[1];
  if (third !== undefined) return undefined;
  if (pattern.test(first)) return second === undefined ? { key: first } : thread !== undefined ? { key: first, thread } : undefined;
  return second === undefined && thread !== undefined ? { thread } : undefined;
}

/**
 * Takes the key out of the address bar and out of the history entry before anything else can see it there. A fragment that
 * is no key goes, too.
 */
export function takeAddress(location: Pick<Location, "hash" | "pathname" | "origin">, history: Pick<History, "replaceState" | "state">): Asked {
  if (location.hash === "") return {};
  const asked = parseAddress(location.hash, location.origin);
  history.replaceState(history.state, "", location.pathname);
  return asked ?? {};
}

type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** The session of this tab. Another origin's, or anything that is not one, is none. */
export function load(store: Store, origin: string): Session | undefined {
  const kept = store.getItem(storageKey);
  if (kept === null) return undefined;
  try {
    const s: unknown = JSON.parse(kept);
    if (isSession(s) && s.origin === origin) return s;
  } catch {
    // Not written by this page: treated as none, and removed below.
  }
  store.removeItem(storageKey);
  return undefined;
}

export function save(store: Store, s: Session | undefined): void {
  if (s) store.setItem(storageKey, JSON.stringify(s));
  else store.removeItem(storageKey);
}

function isSession(s: unknown): s is Session {
  const o = s as Record<string, unknown> | null;
  return typeof o === "object" && o !== null && typeof o.origin === "string" && typeof o.session === "string" && pattern.test(o.session) && typeof o.channel === "string" && pattern.test(o.channel);
}
