// The three requests of the worker contract. Nothing here repeats anything; what an answer means is told apart exactly.
import { contractHeader, contractVersion, paths, type Command, type CommandKind, type Problem, type Result, type SnapshotRead, type Start } from "../contract";
import type { Session } from "./key";

/**
 * What a request came to when it was not carried out as asked.
 *   unreachable  nobody answered, or nobody who speaks this contract
 *   key          the worker answers, but not to this key
 *   version      the worker speaks another version of the contract (R-UI-04)
 *   refused      the worker refused the request itself
 *   busy         the worker has no room now; asking later helps
 */
export type Failure = { kind: "unreachable" | "key" | "version" | "refused" | "busy"; problem?: Problem };

export class Refused extends Error {
  constructor(readonly failure: Failure) {
    super(failure.problem?.text ?? failure.kind);
    this.name = "Refused";
  }
}

export type Fetch = (input: string, init: RequestInit) => Promise<Response>;

/** Nothing of the person's other sites goes along, and nothing is kept. */
const base: RequestInit = { cache: "no-store", credentials: "omit", mode: "same-origin", redirect: "error", referrerPolicy: "no-referrer" };

const headers = (s: Session | undefined): Record<string, string> => ({
  [contractHeader]: String(contractVersion),
  ...(s ? { Authorization: "Relay " + s.session } : {}),
});

async function ask(fetch: Fetch, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { ...base, ...init });
  } catch (e) {
    if (init.signal?.aborted) throw e;
    throw new Refused({ kind: "unreachable" });
  }
}

async function json(r: Response, signal?: AbortSignal | null): Promise<unknown> {
  try {
    return await r.json();
  } catch (e) {
    if (signal?.aborted) throw e;
    throw new Refused({ kind: "unreachable" }); // cut off, or not the worker
  }
}

/** Makes the failure of an answer other than 200. */
async function failed(r: Response, signal?: AbortSignal | null): Promise<Refused> {
  const body = (await json(r, signal)) as { version?: unknown; problem?: Problem } | null;
  if (typeof body?.version !== "number") return new Refused({ kind: "unreachable" });
  const problem = typeof body.problem?.text === "string" ? { problem: body.problem } : {};
  if (body.version !== contractVersion || r.status === 409) return new Refused({ kind: "version", ...problem });
  return new Refused({ kind: r.status === 401 ? "key" : r.status === 503 ? "busy" : "refused", ...problem });
}

/** What browsers let a request hold that outlives its page; all such requests of a page together, so half of it. */
const outliving = 32 << 10;

async function post(fetch: Fetch, path: string, session: Session | undefined, body: unknown, signal?: AbortSignal, outlives = false): Promise<unknown> {
  const text = JSON.stringify(body);
  const r = await ask(fetch, path, {
    method: "POST", headers: { ...headers(session), "Content-Type": "application/json" }, body: text, ...(signal ? { signal } : {}),
    ...(outlives && text.length * 3 <= outliving ? { keepalive: true } : {}),
  });
  if (r.status !== 200) throw await failed(r, signal);
  const out = (await json(r, signal)) as { version?: unknown } | null;
  if (typeof out?.version !== "number") throw new Refused({ kind: "unreachable" });
  if (out.version !== contractVersion) throw new Refused({ kind: "version" });
  return out;
}

/** A session, and what it is shown first when the worker told it at once. */
export interface Granted {
  readonly session: Session;
  readonly start?: Start;
}

/** Trades a one-time key for a session, once, and asks for the first snapshot, and the thread that is wanted, in the same breath. */
export async function exchange(fetch: Fetch, origin: string, key: string, start: SnapshotRead): Promise<Granted> {
  const g = (await post(fetch, paths.session, undefined, { version: contractVersion, key, start })) as { session?: unknown; channel?: unknown; start?: unknown };
  if (typeof g.session !== "string" || typeof g.channel !== "string") throw new Refused({ kind: "version" });
  return { session: { origin, session: g.session, channel: g.channel }, ...(isStart(g.start) ? { start: g.start } : {}) };
}

/** The first snapshot of a tab that was admitted before. */
export async function restart(fetch: Fetch, session: Session, operation: string, start: SnapshotRead): Promise<Granted> {
  const r = await send(fetch, session, { version: contractVersion, operation, kind: "snapshot.read", params: start });
  return { session, ...(r.status === "done" && isStart(r.value) ? { start: r.value } : {}) };
}

function isStart(s: unknown): s is Start {
  const o = s as { id?: unknown; snapshot?: { version?: unknown } } | null | undefined;
  return typeof o === "object" && o !== null && typeof o.id === "string" && o.snapshot?.version === contractVersion;
}

/** A draft arrives although its page is being left: what was typed in the last moment is not lost. */
export async function send<K extends CommandKind>(fetch: Fetch, session: Session, c: Command<K>, signal?: AbortSignal): Promise<Result<K>> {
  const r = (await post(fetch, paths.command, session, c, signal, c.kind === "draft.set")) as Result<K>;
  if (r.operation !== c.operation || typeof r.status !== "string") throw new Refused({ kind: "unreachable" });
  return r;
}

/** Opens the stream after the batch of that id, or with a snapshot. */
export async function open(fetch: Fetch, session: Session, last: string | undefined, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const r = await ask(fetch, paths.stream, { method: "GET", headers: { ...headers(session), ...(last ? { "Last-Event-ID": last } : {}) }, signal });
  if (r.status !== 200) throw await failed(r, signal);
  if (!r.body || r.headers.get("Content-Type") !== "text/event-stream") {
    await r.body?.cancel();
    throw new Refused({ kind: "unreachable" });
  }
  return r.body;
}
