// What the page needs from its link to the worker. The link owns keys, the stream, resume, the election of the one tab that
// holds the stream, and the state that snapshot and batches fold into; the page renders State and calls Link.
import type { ReadonlySignal, Signal } from "@preact/signals";
import type { Card, CommandKind, Commands, Connection, Draft, Item, Model, Notice, Outcome, Owner, Problem, Profile, Result, SyncFailed, ThreadHead, ThreadSummary } from "../contract";

/**
 * How the page stands to its worker (not: the worker to codex; that is State.connection).
 *   starting   the key is exchanged or the stream opens for the first time
 *   live       the stream is open and the state is present
 *   lost       the stream broke and is tried again; what is shown is last-known
 *   refused    the worker answers, but not to this tab: the key is used up, expired or of another worker. A fresh address
 *              (relaycodex url) is needed. The page keeps what the person typed. submitKey may end this state.
 *   mismatch   the worker speaks another contract version; only a reload helps
 */
export type Phase =
  | { name: "starting" }
  | { name: "live" }
  | { name: "lost"; sinceMs: number }
  | { name: "refused"; problem?: Problem }
  | { name: "mismatch"; problem?: Problem };

/** One open thread. Items are the last ones of the worker's window: first + items.length === total. */
export interface OpenThread {
  readonly head: ThreadHead;
  readonly first: number;
  readonly total: number;
  readonly items: readonly Item[];
}

/**
 * State is immutable; an update shares every part that did not change, so that identity (===) of a thread, an item, a card
 * tells whether it must be drawn again.
 */
export interface State {
  readonly instance: string;
  readonly relay: string;
  /** The codex version whose contract the worker knows. */
  readonly codex: string;
  readonly connection: Connection;
  readonly owner: Owner | undefined;
  readonly profiles: readonly Profile[];
  readonly threads: readonly ThreadSummary[];
  readonly moreThreads: boolean;
  readonly open: ReadonlyMap<string, OpenThread>;
  /** In order of arrival. */
  readonly cards: readonly Card[];
  readonly drafts: ReadonlyMap<string, Draft>;
  readonly models: readonly Model[];
  readonly outcomes: readonly Outcome[];
  readonly notices: readonly Notice[];
  /** The latest failed synchronisation of each thread ("" is all). Gone when a window arrives. */
  readonly syncFailed: ReadonlyMap<string, SyncFailed>;
}

/** The POST itself failed: nobody knows whether the worker executed the command, unless it says that it did not. */
export class LinkError extends Error {
  constructor(readonly kind: "unreachable" | "refused", readonly problem?: Problem) {
    super(problem?.text ?? kind);
    this.name = "LinkError";
  }
}

export interface Link {
  readonly phase: ReadonlySignal<Phase>;
  /** undefined until the first snapshot. Kept while the phase is lost or refused. */
  readonly state: ReadonlySignal<State | undefined>;
  /** The thread that an address asked for and that was not shown yet. */
  readonly wanted: Signal<string | undefined>;
  /** Settles when the first answer was taken in, or is none. */
  readonly first: Promise<void>;
  /**
   * Sends one command under a fresh operation id, or the given one, with the epoch of the owner that is shown now (or the
   * given one). It rejects with LinkError only; what the worker decided is in the Result.
   */
  command<K extends CommandKind>(kind: K, params: Commands[K]["params"], opts?: { operation?: string; owner?: number }): Promise<Result<K>>;
  /** Reads up to count items before those that are held and puts them in front in the state. */
  before(thread: string, count: number): Promise<Result<"window.read">>;
  /** Offers a page address or its key, when the phase is refused: "relaycodex url" prints one. false: it was not taken. */
  submitKey(addressOrKey: string): Promise<boolean>;
  /** A fresh operation id. */
  operation(): string;
  close(): void;
}
