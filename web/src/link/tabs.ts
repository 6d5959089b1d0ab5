// The tabs of one browser share one stream: one of them leads, holds the stream and passes its batches on. A browser opens
// six connections to a host, so eight tabs with a stream each would leave none for commands.
//
// Only tabs that the same worker admitted can take part: the channel is called by a secret that the exchange of a key gives
// (contract: SessionGranted), and the lock, whose name other pages of this origin can list, by a digest of it. Session keys
// never go over the channel; each tab sends its commands under its own.
import type { Phase, State } from "./types";

/** What goes over the channel. Batches go as the worker sent them. */
export type Message =
  | { kind: "batch"; from: string; id: string; data: string }
  | { kind: "phase"; from: string; phase: Phase }
  | { kind: "hello"; from: string }
  | { kind: "state"; from: string; to: string; id: string; state: State; phase: Phase }
  | { kind: "ping"; from: string }
  | { kind: "pong"; from: string; id: string };

/** What the tab does with it. */
export interface Member {
  /** Leads until signal ends; a return gives the lead to another tab. */
  lead(signal: AbortSignal): Promise<void>;
  batch(id: string, data: string): void;
  state(id: string, state: State, phase: Phase): void;
  phase(phase: Phase): void;
  /** What this tab has now, when it has something. */
  place(): { id: string; state: State; phase: Phase } | undefined;
}

export interface Channel {
  postMessage(m: Message): void;
  onmessage: ((e: MessageEvent) => void) | null;
  close(): void;
}

export interface Env {
  locks: Pick<LockManager, "request">;
  channel(name: string): Channel;
  crypto: Crypto;
  /** Whether a person can see this tab; only such a tab looks after the leader. */
  visible(): boolean;
  timer(f: () => void, ms: number): () => void;
}

/** How often a visible follower asks whether the leader lives, and how many questions stay open before it takes over. */
const askEvery = 2000, unanswered = 2;

/** Before a tab that led queues again. */
const pause = 250;

const hex = (b: ArrayBuffer | Uint8Array) => Array.from(new Uint8Array(b as ArrayBuffer), (x) => x.toString(16).padStart(2, "0")).join("");

export class Tabs {
  readonly #env: Env;
  readonly #member: Member;
  readonly #secret: string;
  readonly #me: string;
  readonly #over = new AbortController();
  #channel: Channel | undefined;
  #lock = "";
  #lead: AbortController | undefined; // while this tab leads
  #open = 0; // pings without a pong
  #stopTimer = () => {};

  constructor(env: Env, secret: string, member: Member) {
    this.#env = env;
    this.#member = member;
    this.#secret = secret;
    this.#me = hex(env.crypto.getRandomValues(new Uint8Array(12)));
  }

  get leading(): boolean {
    return this.#lead !== undefined;
  }

  /** Takes part until stop. */
  async start(): Promise<void> {
    const digest = await this.#env.crypto.subtle.digest("SHA-256", new TextEncoder().encode("lock:" + this.#secret));
    if (this.#over.signal.aborted) return;
    this.#lock = "relaycodex " + hex(digest);
    this.#channel = this.#env.channel("relaycodex " + this.#secret);
    this.#channel.onmessage = (e) => this.#hear(e.data as Message);
    this.#post({ kind: "hello", from: this.#me });
    this.#watch();
    while (!this.#over.signal.aborted) {
      // A tab that lost the lead queues for it again.
      await this.#hold({ signal: this.#over.signal });
      await new Promise<void>((next) => {
        this.#env.timer(next, pause);
        this.#over.signal.addEventListener("abort", () => next(), { once: true });
      });
    }
  }

  stop(): void {
    this.#over.abort();
    this.#stopTimer();
    this.#lead?.abort();
    this.#channel?.close();
  }

  /** Says something to the other tabs, as the leader. */
  pass(id: string, data: string): void {
    if (this.leading) this.#post({ kind: "batch", from: this.#me, id, data });
  }

  tell(phase: Phase): void {
    if (this.leading) this.#post({ kind: "phase", from: this.#me, phase });
  }

  /** Asks for the state, when batches are missing. */
  ask(): void {
    this.#post({ kind: "hello", from: this.#me });
  }

  /** Looks after the leader at once, for a tab that a person just came back to. */
  check(): void {
    if (!this.leading) this.#post({ kind: "ping", from: this.#me });
  }

  /** Leads while it holds the lock, until the member has enough or another tab takes the lock away. */
  async #hold(options: LockOptions): Promise<void> {
    const lead = new AbortController();
    try {
      await this.#env.locks.request(this.#lock, options, async () => {
        if (this.#over.signal.aborted) return;
        this.#lead = lead;
        this.#open = 0;
        await this.#member.lead(lead.signal);
      });
    } catch {
      // Over, or taken away: the lock's promise is rejected while the member still leads.
    }
    lead.abort();
    if (this.#lead === lead) this.#lead = undefined;
  }

  #hear(m: Message): void {
    if (this.#over.signal.aborted || typeof m !== "object" || m === null || m.from === this.#me) return;
    switch (m.kind) {
      case "hello":
        return this.#answer(m.from);
      case "ping":
        if (this.leading) this.#post({ kind: "pong", from: this.#me, id: this.#member.place()?.id ?? "" });
        return;
      case "pong":
        this.#open = 0;
        if (!this.leading && m.id !== "" && m.id !== this.#member.place()?.id) this.ask();
        return;
    }
    this.#open = 0; // whatever the leader says shows that it lives
    switch (m.kind) {
      case "batch":
        return this.#member.batch(m.id, m.data);
      case "phase":
        if (!this.leading) this.#member.phase(m.phase);
        return;
      case "state":
        if (m.to === this.#me) this.#member.state(m.id, m.state, m.phase);
    }
  }

  #answer(to: string): void {
    const place = this.leading ? this.#member.place() : undefined;
    if (place) this.#post({ kind: "state", from: this.#me, to, ...place });
  }

  /** A visible follower asks now and then; a leader that stays silent is frozen or stuck, and is replaced. */
  #watch(): void {
    this.#stopTimer = this.#env.timer(() => {
      if (this.#over.signal.aborted) return;
      if (!this.leading && this.#env.visible()) {
        if (this.#open++ >= unanswered) {
          this.#open = 0;
          void this.#hold({ steal: true });
        } else this.#post({ kind: "ping", from: this.#me });
      }
      this.#watch();
    }, askEvery);
  }

  #post(m: Message): void {
    this.#channel?.postMessage(m);
  }
}
