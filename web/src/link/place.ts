// The place of a tab in the worker's events: which batch fits next. Pure.
import type { Batch } from "../contract";
import { fold, type Reread } from "./fold";
import type { State } from "./types";

/** State with the id of the last batch that is in it. */
export interface Place {
  readonly id: string;
  readonly state: State;
}

/**
 * taken: the place moved on. old: it is in the state already. gap: something between is missing, so a snapshot is needed.
 */
export type Taken = { result: "taken"; place: Place; rereads: Reread[] } | { result: "old" } | { result: "gap" };

/** An id is "epoch-number"; numbers grow by one within an epoch, which is one worker's life. */
function parse(id: string): { epoch: string; n: number } | undefined {
  const m = /^([0-9a-f]{1,64})-(0|[1-9][0-9]{0,14})$/.exec(id);
  return m ? { epoch: m[1]!, n: Number(m[2]) } : undefined;
}

/** Takes in a batch. The same id has the same meaning whoever passes it on, so that duplicates and late ones do nothing. */
export function take(place: Place | undefined, id: string, batch: Batch): Taken {
  const at = parse(id), held = place && parse(place.id);
  if (!at || (place && !held)) return { result: "gap" };
  const begins = batch.events[0]?.kind === "snapshot";
  const same = held?.epoch === at.epoch;
  if (held && same && (begins ? at.n < held.n : at.n <= held.n)) return { result: "old" };
  if (!begins && !(held && same && at.n === held.n + 1)) return { result: "gap" };
  const rereads: Reread[] = [];
  let state = place?.state;
  for (const e of batch.events) state = fold(state, e, rereads);
  return state ? { result: "taken", place: { id, state }, rereads } : { result: "gap" };
}

/** Whether the place of one id is ahead of another's, or of another worker's life. */
export function newer(id: string, than: string | undefined): boolean {
  const a = parse(id), b = than === undefined ? undefined : parse(than);
  return a !== undefined && (b === undefined || a.epoch !== b.epoch || a.n > b.n);
}
