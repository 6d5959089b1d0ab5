// A message of which nobody can tell whether it arrived (R-REC-07). It is never sent again by itself.
import { useId } from "preact/hooks";
import { edit, send } from "../composer/send";
import type { Outcome } from "../contract";
import { Button, copy, Tag, Time } from "../parts/parts";
import { connected, opened } from "../state/page";
import { texts } from "../text";
import { prose } from "../visible";

export function Uncertain({ outcome, head }: { outcome: Outcome; head: string }) {
  const m = texts.value;
  const consequence = useId();
  const text = outcome.text ?? "";
  const thread = outcome.thread ?? "";
  const can = connected.value && opened.value?.head.mode === "joined";
  return (
    <>
      <h2 class="item-h" id={head}><span class="who">{m.you}</span> <Tag icon="half" tone="attn">{m.outcomeUnknown}</Tag> <Time ms={outcome.atMs} /></h2>
      <div class="body"><p class="typed">{prose(text)}</p></div>
      <div class="uncertain-t">
        <p>{m.outcomeUnknownWhy}</p>
        <div class="row">
          <Button icon="copy" onClick={() => void copy(text)}>{m.copy}</Button>
          <Button onClick={() => edit(thread, text)}>{m.editInBox}</Button>
          {can ? <><Button aria-describedby={consequence} onClick={() => void send(thread, text, {})}>{m.sendAgain}</Button><span class="muted" id={consequence}>{m.sendAgainWhat}</span></> : <span class="muted">{m.sendAgainLater}</span>}
        </div>
      </div>
    </>
  );
}
