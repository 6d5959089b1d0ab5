// What was asked for and not done: its sentence, its remedy, and a way to put it aside.
import { Icon } from "../parts/Icon";
import { Button, ProblemNote } from "../parts/parts";
import { connection } from "../state/page";
import { useSay } from "../state/say";
import { ofConnection, trouble, troubles } from "../state/trouble";
import { problemText, texts } from "../text";

/** A silent one stands in a dialog: the page behind it says the same, and keeps it. */
export function Troubled({ place, silent }: { place: string; silent?: boolean }) {
  const m = texts.value;
  const t = troubles.value.get(place), c = connection.value;
  // An attempt that failed is the state of the connection, which says so itself.
  const told = place === ofConnection && c?.state === "waitingForManualReconnect" && c.problem && t?.problem && c.problem.code === t.problem.code && c.problem.variant === t.problem.variant;
  const unsure = t?.status === "unknown" || t?.status === "lost";
  const title = t?.what === "send" ? (unsure ? m.sendUnknown : m.notSent) : t?.what === "read" && !unsure ? m.notRead : "";
  useSay("alert", !t || told || silent ? "" : title || (t.problem ? problemText(t.problem).text : m.lost));
  if (!t || told) return null;
  return (
    <div class="trouble">
      {t.problem ? <ProblemNote problem={t.problem} tone={t.status === "unknown" ? "attn" : "bad"} title={title} /> : <div class="note attn"><p class="note-t"><Icon name="warn" /><b>{title || m.lost}</b></p>{title ? <p>{m.lost}</p> : null}</div>}
      {silent ? null : <Button kind="quiet" onClick={() => trouble(place, undefined)}>{m.close}</Button>}
    </div>
  );
}
