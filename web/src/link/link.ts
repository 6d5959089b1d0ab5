// The link of one tab to its worker: keys, the shared stream, resume, commands, and the state that all of it folds into.
import { signal } from "@preact/signals";
import { contractVersion, type Batch, type CommandKind, type Commands, type Result } from "../contract";
import { prepend, reread, type Reread } from "./fold";
import { begin, operationID, type BeginEnv, type Begun } from "./begin";
import { exchange, open, Refused, send, type Failure, type Granted } from "./http";
import { parseAddress, save, takeAddress, type Session } from "./key";
import { newer, take, type Place } from "./place";
import { EventParser } from "./sse";
import { Tabs, type Env as TabsEnv } from "./tabs";
import { LinkError, type Link, type Phase, type State } from "./types";

/** Everything of the browser that the link uses. */
export interface Env extends TabsEnv, BeginEnv {
  crypto: Crypto;
  /** What was begun before the link was there. */
  begun?: Begun | undefined;
  now(): number;
  random(): number;
  /** Calls back when the address changed within the page, when the person comes back to the tab, or when the network is there again. */
  on(what: "hashchange" | "visible" | "online" | "hide" | "show", f: () => void): () => void;
}

/** Silence after which a stream is dead; the worker says something every 15 s. */
const silence = 40_000;
/** Waits between attempts to open the stream: the first is at once, they double up to the last. */
const firstWait = 250, lastWait = 8_000;
/** Waits before a command whose answer was lost is sent again, under the same operation. */
const repeats = [300, 1_000, 3_000];

/** Takes the key out of the address at once and links the page to its worker. */
export function createLink(env: Env): Link {
  return new TabLink(env);
}

class TabLink implements Link {
  readonly phase = signal<Phase>({ name: "starting" });
  readonly state = signal<State | undefined>(undefined);
  readonly wanted = signal<string | undefined>(undefined);
  readonly first: Promise<void>;
  readonly #env: Env;
  #session: Session | undefined;
  #place: Place | undefined;
  #tabs: Tabs | undefined;
  #life = new AbortController();
  #sleepers = new Set<() => void>();
  #reading = new Set<string>();

  constructor(env: Env) {
    this.#env = env;
    const begun = env.begun ?? begin(env);
    this.#session = begun.session;
    this.wanted.value = begun.thread;
    const off = [
      env.on("hashchange", () => {
        const fresh = takeAddress(env.location, env.history);
        if (fresh.thread !== undefined) this.wanted.value = fresh.thread;
        if (fresh.key !== undefined) void this.#admit(fresh.key);
      }),
      env.on("visible", () => { this.#wake(); this.#tabs?.check(); }),
      env.on("online", () => this.#wake()),
      // A page that is put aside must not keep the lead; when it is taken out again it takes part anew.
      env.on("hide", () => this.#tabs?.stop()),
      env.on("show", () => this.#join()),
    ];
    this.#life.signal.addEventListener("abort", () => off.forEach((f) => f()));
    if (begun.key !== undefined) void this.#admit(begun.key, begun.first);
    else if (this.#session) void this.#resume(this.#session, begun.first);
    else this.phase.value = { name: "refused" };
    // What is under way came to something by then, and was taken in: the callbacks above are older.
    this.first = (begun.first ?? Promise.resolve()).then(() => undefined, () => undefined);
  }

  operation(): string {
    return operationID(this.#env.crypto);
  }

  close(): void {
    this.#tabs?.stop();
    this.#life.abort();
  }

  async submitKey(addressOrKey: string): Promise<boolean> {
    const asked = parseAddress(addressOrKey, this.#env.location.origin);
    if (asked?.key === undefined || !(await this.#admit(asked.key))) return false;
    if (asked.thread !== undefined) this.wanted.value = asked.thread;
    return true;
  }

  /** Goes on after a reload: the tab was admitted before. */
  async #resume(session: Session, first: Promise<Granted> | undefined): Promise<void> {
    try {
      const granted = await first;
      if (this.#session === session) this.#begin(granted);
    } catch (e) {
      const failure = failureOf(e);
      if (this.#session === session && (failure.kind === "key" || failure.kind === "version")) return this.#end(failure);
    }
    if (this.#session === session && !this.#tabs) this.#join(); // whatever else it was, the stream tells
  }

  /** Takes in what the worker told with its first answer; the stream goes on behind it. */
  #begin(granted: Granted | undefined): void {
    if (!granted?.start || this.#life.signal.aborted) return;
    const taken = take(this.#place, granted.start.id, { version: contractVersion, events: [{ kind: "snapshot", body: granted.start.snapshot }] });
    if (taken.result === "taken") this.#move(taken.place);
  }

  /** Exchanges a key. A session that still works outlives a key that does not. */
  async #admit(key: string, first?: Promise<Granted>): Promise<boolean> {
    for (const wait of [...repeats, undefined]) {
      try {
        const granted = await (first ?? exchange(this.#env.fetch, this.#env.location.origin, key, this.wanted.peek() === undefined ? {} : { thread: this.wanted.peek()! }));
        if (this.#life.signal.aborted) return false;
        this.#session = granted.session;
        save(this.#env.storage, granted.session);
        this.#begin(granted);
        this.#join();
        return true;
      } catch (e) {
        first = undefined;
        const failure = failureOf(e);
        if (failure.kind === "unreachable" && wait !== undefined) {
          await this.#sleep(wait, this.#life.signal);
          continue;
        }
        if (failure.kind === "version") this.#end(failure);
        else if (this.phase.value.name !== "live") {
          if (this.#session) this.#join(); // a reload with the used address: the tab was admitted before
          else this.phase.value = failure.kind === "unreachable" ? { name: "lost", sinceMs: this.#env.now() } : { name: "refused", ...problemOf(failure) };
        }
        return false;
      }
    }
    return false;
  }

  /** Takes part in the stream under the present session. */
  #join(): void {
    this.#tabs?.stop();
    const session = this.#session;
    if (!session || this.#life.signal.aborted) return;
    const current = () => this.#tabs === tabs;
    const tabs: Tabs = new Tabs(this.#env, session.channel, {
      lead: (signal) => this.#lead(session, tabs, signal),
      batch: (id, data) => { if (current()) this.#hear(tabs, id, data); },
      state: (id, state, phase) => {
        if (!current() || tabs.leading) return;
        if (newer(id, this.#place?.id)) this.#move({ id, state }); // never back to what another tab had earlier
        this.#become(phase);
      },
      phase: (phase) => { if (current()) this.#become(phase); },
      place: () => this.#place && { ...this.#place, phase: this.phase.value },
    });
    this.#tabs = tabs;
    if (this.phase.value.name !== "live") this.phase.value = { name: "starting" };
    void tabs.start();
  }

  #become(phase: Phase): void {
    if (phase.name === "live" && !this.#place) return;
    if (phase.name === "live" || phase.name === "lost" || phase.name === "mismatch") this.phase.value = phase;
  }

  #move(place: Place): void {
    this.#place = place;
    this.state.value = place.state;
    if (this.phase.value.name !== "live") this.phase.value = { name: "live" };
  }

  /** A batch that the leading tab passed on. */
  #hear(tabs: Tabs, id: string, data: string): void {
    let batch: Batch;
    try {
      batch = decode(data);
    } catch {
      return;
    }
    const taken = take(this.#place, id, batch);
    if (taken.result === "gap") tabs.ask();
    if (taken.result !== "taken") return;
    this.#move(taken.place);
    for (const r of taken.rereads) void this.#again(r);
  }

  /** Holds the stream until signal ends or the worker refuses. */
  async #lead(session: Session, tabs: Tabs, signal: AbortSignal): Promise<void> {
    let wait = 0;
    while (!signal.aborted) {
      try {
        await this.#follow(session, tabs, signal, () => { wait = 0; });
      } catch (e) {
        if (signal.aborted) return;
        const failure = failureOf(e);
        if (failure.kind === "key" || failure.kind === "version") {
          if (this.#tabs === tabs) this.#end(failure);
          return;
        }
      }
      if (signal.aborted) return;
      if (wait > 0 && this.phase.value.name !== "lost") {
        this.phase.value = { name: "lost", sinceMs: this.#env.now() };
        tabs.tell(this.phase.value);
      }
      await this.#sleep(wait * (0.8 + 0.4 * this.#env.random()), signal);
      wait = Math.min(lastWait, wait === 0 ? firstWait : wait * 2);
    }
  }

  /** This session is over: the worker was restarted, or is another one. What is shown stays as it was. */
  #end(failure: Failure): void {
    if (failure.kind === "version") {
      this.phase.value = { name: "mismatch", ...problemOf(failure) };
      this.#tabs?.tell(this.phase.value);
    } else {
      this.#session = undefined;
      save(this.#env.storage, undefined);
      this.#place = undefined;
      this.phase.value = { name: "refused", ...problemOf(failure) };
    }
    this.#tabs?.stop();
    this.#tabs = undefined;
  }

  /** Reads one stream to its end. */
  async #follow(session: Session, tabs: Tabs, signal: AbortSignal, alive: () => void): Promise<void> {
    const cut = new AbortController();
    const onAbort = () => cut.abort();
    signal.addEventListener("abort", onAbort, { once: true });
    let quiet = this.#env.timer(onAbort, silence);
    try {
      const body = await open(this.#env.fetch, session, this.#place?.id, cut.signal);
      const reader = body.getReader(), parser = new EventParser(), decoder = new TextDecoder();
      for (;;) {
        const { done, value } = await reader.read();
        if (done || signal.aborted) return;
        quiet();
        quiet = this.#env.timer(onAbort, silence);
        const events = parser.push(decoder.decode(value, { stream: true }));
        let place = this.#place;
        const rereads: Reread[] = [];
        for (const e of events) {
          const taken = take(place, e.id, decode(e.data));
          if (taken.result === "gap") {
            this.#place = undefined; // the next attempt begins with a snapshot
            return;
          }
          tabs.pass(e.id, e.data);
          if (taken.result === "taken") {
            place = taken.place;
            rereads.push(...taken.rereads);
          }
        }
        if (place && place !== this.#place) {
          const was = this.phase.value.name;
          this.#move(place);
          if (was !== "live") tabs.tell(this.phase.value);
        } else if (place && events.length === 0 && this.phase.value.name === "lost") {
          this.phase.value = { name: "live" }; // resumed: nothing was missed
          tabs.tell(this.phase.value);
        }
        alive();
        for (const r of rereads) void this.#again(r);
      }
    } finally {
      quiet();
      signal.removeEventListener("abort", onAbort);
      cut.abort();
    }
  }

  /** Reads an item whose text does not fit any more. One reading of an item is under way at a time. */
  async #again(r: Reread): Promise<void> {
    const name = r.thread + "\n" + r.item;
    if (this.#reading.has(name)) return;
    this.#reading.add(name);
    try {
      const result = await this.command("item.read", { thread: r.thread, item: r.item });
      if (result.value && this.#place) this.#move({ id: this.#place.id, state: reread(this.#place.state, r.thread, result.value) });
    } catch {
      // The next delta that does not fit asks again.
    } finally {
      this.#reading.delete(name);
    }
  }

  async command<K extends CommandKind>(kind: K, params: Commands[K]["params"], opts: { operation?: string; owner?: number } = {}): Promise<Result<K>> {
    const session = this.#session;
    if (!session) throw new LinkError("refused", this.phase.value.name === "refused" ? this.phase.value.problem : undefined);
    const owner = opts.owner ?? this.state.value?.owner?.epoch;
    const c = { version: contractVersion, ...(owner !== undefined ? { owner } : {}), operation: opts.operation ?? this.operation(), kind, params } as const;
    let lost = false;
    for (const wait of [...repeats, undefined]) {
      try {
        return await send(this.#env.fetch, session, c, this.#life.signal);
      } catch (e) {
        if (this.#life.signal.aborted) throw new LinkError("unreachable");
        const failure = failureOf(e);
        if (failure.kind === "key" || failure.kind === "version") {
          if (this.#session === session) this.#end(failure);
          // A worker that does not know this session may not be the one that got the command before.
          throw lost ? new LinkError("unreachable") : new LinkError("refused", failure.problem);
        }
        if (failure.kind === "refused") throw lost ? new LinkError("unreachable") : new LinkError("refused", failure.problem);
        lost ||= failure.kind === "unreachable";
        if (wait === undefined) throw new LinkError(lost ? "unreachable" : "refused", failure.problem);
        // The same operation is executed once, however often it arrives, and only by the worker that knows this session.
        await this.#sleep(wait, this.#life.signal);
      }
    }
    throw new LinkError("unreachable");
  }

  async before(thread: string, count: number): Promise<Result<"window.read">> {
    const first = this.state.value?.open.get(thread)?.items[0]?.id;
    const result = await this.command("window.read", { thread, count, ...(first ? { before: first } : {}) });
    if (result.value && first && this.#place) this.#move({ id: this.#place.id, state: prepend(this.#place.state, thread, first, result.value) });
    return result;
  }

  #wake(): void {
    for (const f of [...this.#sleepers]) f();
  }

  /** Waits; shorter when the person comes back or the network does. */
  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted || ms <= 0) return resolve();
      const done = () => {
        stop();
        signal.removeEventListener("abort", done);
        this.#sleepers.delete(done);
        resolve();
      };
      const stop = this.#env.timer(done, ms);
      this.#sleepers.add(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }
}

function decode(data: string): Batch {
  const batch = JSON.parse(data) as Batch;
  if (batch?.version !== contractVersion) throw new Refused({ kind: typeof batch?.version === "number" ? "version" : "unreachable" });
  if (!Array.isArray(batch.events)) throw new Refused({ kind: "unreachable" });
  return batch;
}

function failureOf(e: unknown): Failure {
  return e instanceof Refused ? e.failure : { kind: "unreachable" };
}

const problemOf = (f: Failure) => (f.problem ? { problem: f.problem } : {});
