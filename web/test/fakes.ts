// A browser without a browser: several tabs of one origin with their locks, channels, clocks and storage, and a worker that
// answers their requests.
import type { Batch, Command, Event, Snapshot, Start } from "../src/contract";
import type { Env } from "../src/link/link";
import { createLink } from "../src/link/link";
import type { Channel, Message } from "../src/link/tabs";
import { emptySnapshot } from "./story";

export const origin = "http://127.0.0.1:4000";
export const key = (c: string) => c.repeat(43);

/** Lets everything that can happen now happen. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 48; i++) {
    await new Promise((r) => setImmediate(r));
    if (i % 4 === 0) await crypto.subtle.digest("SHA-256", new Uint8Array(1)); // what was asked of other threads before
  }
}

type Waiting = { start: () => void; name: string };
type Holder = { reject: (e: Error) => void; done: Promise<unknown> };

/** Web Locks of one origin, exclusive ones only. */
export class Locks {
  readonly names = new Set<string>();
  #held = new Map<string, Holder>();
  #queue: Waiting[] = [];

  request = ((name: string, options: LockOptions, f: () => Promise<unknown>): Promise<unknown> => {
    this.names.add(name);
    return new Promise((resolve, reject) => {
      const start = () => {
        const holder: Holder = { reject, done: f().then(resolve, reject) };
        this.#held.set(name, holder);
        void holder.done.finally(() => {
          if (this.#held.get(name) !== holder) return; // stolen
          this.#held.delete(name);
          this.#next(name);
        });
      };
      if (options.steal) {
        this.#held.get(name)?.reject(new DOMException("stolen", "AbortError"));
        start();
      } else if (this.#held.has(name)) {
        const w = { start, name };
        this.#queue.push(w);
        options.signal?.addEventListener("abort", () => {
          this.#queue = this.#queue.filter((x) => x !== w);
          reject(new DOMException("aborted", "AbortError"));
        });
      } else start();
    });
  }) as Env["locks"]["request"];

  #next(name: string): void {
    const i = this.#queue.findIndex((w) => w.name === name);
    if (i >= 0) this.#queue.splice(i, 1)[0]!.start();
  }
}

/** BroadcastChannels of one origin. */
export class Hub {
  readonly names = new Set<string>();
  readonly log: { name: string; message: Message }[] = [];
  #open: { name: string; tab: Tab; channel: Channel }[] = [];

  join(tab: Tab, name: string): Channel {
    this.names.add(name);
    const entry = { name, tab, channel: undefined as unknown as Channel };
    entry.channel = {
      onmessage: null,
      postMessage: (m) => {
        if (tab.frozen) return;
        this.log.push({ name, message: m });
        for (const o of this.#open) {
          if (o === entry || o.name !== name) continue;
          const data = structuredClone(m);
          setImmediate(() => { if (!o.tab.frozen && this.#open.includes(o)) o.channel.onmessage?.({ data } as MessageEvent); });
        }
      },
      close: () => { this.#open = this.#open.filter((o) => o !== entry); },
    };
    this.#open.push(entry);
    return entry.channel;
  }
}

let sessions = 0; // no two workers give the same

/** The other end: sessions, one log of batches, and what arrived. */
export class Worker {
  readonly requests: { path: string; headers: Headers; body: unknown; tab: Tab; hash: string }[] = [];
  readonly executed = new Map<string, number>();
  readonly streams: { tab: Tab; last: string | null; write: (s: string) => void; end: () => void }[] = [];
  keys = new Set<string>();
  sessions = new Set<string>();
  version = 1;
  down = false;
  loseAnswers = 0;
  /** Whether it tells the first snapshot with its first answer; a start that is not told is no failure. */
  starts = false;
  channel = key("C");
  epoch = "aa";
  #batches: string[] = [];
  snapshot: Snapshot = emptySnapshot();

  emit(...events: Event[]): void {
    this.#batches.push(JSON.stringify({ version: this.version, events } satisfies { version: number; events: Event[] }));
    for (const s of this.streams) s.write(`id: ${this.epoch}-${this.#batches.length}\ndata: ${this.#batches.at(-1)}\n\n`);
  }

  cut(): void {
    for (const s of this.streams.splice(0)) s.end();
  }

  async fetch(tab: Tab, path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    if (tab.frozen) return new Promise(() => {});
    if (this.down) throw new TypeError("nobody answers");
    const body = typeof init.body === "string" ? (JSON.parse(init.body) as unknown) : undefined;
    this.requests.push({ path, headers, body, tab, hash: tab.hash });
    const refuse = (status: number, code: string) =>
      new Response(JSON.stringify({ version: this.version, problem: { code: "relay.endpoint", variant: code, text: "no: " + code } }), { status });
    if (headers.get("Relay-Contract") !== String(this.version)) return refuse(409, "version");
    const session = headers.get("Authorization")?.slice("Relay ".length) ?? "";
    if (path === "/api/session") {
      const { key: given } = body as { key: string };
      if (!this.keys.delete(given)) return refuse(401, "key");
      const fresh = String(++sessions).padStart(43, "s");
      this.sessions.add(fresh);
      return Response.json({ version: this.version, session: fresh, channel: this.channel, ...(this.starts && (body as { start?: unknown }).start ? { start: this.#start() } : {}) });
    }
    if (!this.sessions.has(session)) return refuse(401, "key");
    if (path === "/api/command") {
      const c = body as Command;
      this.executed.set(c.operation, (this.executed.get(c.operation) ?? 0) + (this.executed.has(c.operation) ? 0 : 1));
      if (this.loseAnswers > 0) {
        this.loseAnswers--;
        throw new TypeError("the answer was lost");
      }
      return Response.json({ version: this.version, operation: c.operation, status: "done", value: this.starts && c.kind === "snapshot.read" ? this.#start() : {} });
    }
    return this.#stream(tab, headers.get("Last-Event-ID"), init.signal ?? undefined);
  }

  #start(): Start {
    return { id: `${this.epoch}-${this.#batches.length}`, snapshot: this.snapshot };
  }

  #stream(tab: Tab, last: string | null, signal?: AbortSignal): Response {
    const encoder = new TextEncoder();
    let out!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (c) => { out = c; } });
    let over = false;
    const end = () => { if (!over) { over = true; out.close(); } };
    const write = (s: string) => { if (!over && !tab.frozen) out.enqueue(encoder.encode(s)); };
    signal?.addEventListener("abort", () => {
      if (over) return;
      over = true;
      out.error(new DOMException("aborted", "AbortError"));
      this.streams.splice(this.streams.findIndex((s) => s.end === end) >>> 0, 1);
    });
    this.streams.push({ tab, last, write, end });
    write(": open\n\n");
    const at = last?.startsWith(this.epoch + "-") ? Number(last.slice(this.epoch.length + 1)) : -1;
    if (at >= 0) for (let n = at; n < this.#batches.length; n++) write(`id: ${this.epoch}-${n + 1}\ndata: ${this.#batches[n]}\n\n`);
    else {
      const batch: Batch = { version: 1, events: [{ kind: "snapshot", body: this.snapshot }] };
      write(`id: ${this.epoch}-${this.#batches.length}\ndata: ${JSON.stringify(batch)}\n\n`);
    }
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }
}

/** One tab: its own clock, storage and address bar. */
export class Tab {
  frozen = false;
  seen = true;
  hash = "";
  readonly replaced: string[] = [];
  readonly stored = new Map<string, string>();
  #timers: { at: number; f: () => void }[] = [];
  #now = 0;
  #listeners = new Map<string, Set<() => void>>();

  constructor(readonly locks: Locks, readonly hub: Hub, public worker: Worker) {}

  link(hash = "") {
    this.hash = hash;
    return createLink(this.env());
  }

  fire(what: string): void {
    for (const f of this.#listeners.get(what) ?? []) f();
  }

  /** Lets time pass in this tab. */
  async pass(ms: number): Promise<void> {
    const until = this.#now + ms;
    for (;;) {
      await settle();
      const next = this.#timers.filter((t) => t.at <= until).sort((a, b) => a.at - b.at)[0];
      if (!next || this.frozen) break;
      this.#timers = this.#timers.filter((t) => t !== next);
      this.#now = next.at;
      next.f();
    }
    this.#now = until;
    await settle();
  }

  env(): Env {
    const tab = this;
    return {
      fetch: (path, init) => tab.worker.fetch(tab, path, init),
      location: { get hash() { return tab.hash; }, pathname: "/", origin },
      history: { state: null, replaceState: (_: unknown, __: string, url?: string | URL | null) => { tab.replaced.push(String(url)); tab.hash = ""; } },
      storage: { getItem: (k) => tab.stored.get(k) ?? null, setItem: (k, v) => void tab.stored.set(k, v), removeItem: (k) => void tab.stored.delete(k) },
      locks: { request: tab.locks.request },
      channel: (name) => tab.hub.join(tab, name),
      crypto,
      visible: () => tab.seen,
      timer: (f, ms) => {
        const t = { at: tab.#now + ms, f };
        tab.#timers.push(t);
        return () => { tab.#timers = tab.#timers.filter((x) => x !== t); };
      },
      now: () => tab.#now,
      random: () => 0.5,
      on: (what, f) => {
        if (!tab.#listeners.has(what)) tab.#listeners.set(what, new Set());
        tab.#listeners.get(what)!.add(f);
        return () => tab.#listeners.get(what)!.delete(f);
      },
    };
  }
}

export function world() {
  const worker = new Worker(), locks = new Locks(), hub = new Hub();
  return { worker, locks, hub, tab: () => new Tab(locks, hub, worker) };
}
