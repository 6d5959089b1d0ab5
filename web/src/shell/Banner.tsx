// At most one banner: what stands between the reader and the thread, what is certain, what can be done.
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { Join } from "../composer/Composer";
import { Rich, Time } from "../parts/parts";
import { connection, current, opened, phase, profiles, syncFailed } from "../state/page";
import { attempt, ofConnection } from "../state/trouble";
import { problemText, texts } from "../text";
import { interrupt } from "../composer/send";
import { Button } from "../parts/parts";
import { Admit } from "./Admit";
import { Reconnect } from "./Reconnect";
import { Troubled } from "./Troubled";

export function Banner() {
  return <><What /><Troubled place={ofConnection} /></>;
}

function What() {
  const m = texts.value;
  const p = phase.value, c = connection.value, head = opened.value?.head;
  if (p.name === "refused") {
    return <Frame tone="bad" title={m.refusedTitle} text={<Rich>{m.refusedText}</Rich>}><Admit compact /></Frame>;
  }
  if (p.name === "mismatch") return <Frame tone="bad" title={m.connMismatch} text={m.mismatchText} />;
  if (p.name === "lost") return <Frame tone="attn" title={m.lostTitle} text={<><Time ms={p.sinceMs} class="" />{m.stop} {m.lostText}</>} />;
  if (c?.state === "waitingForManualReconnect") {
    const x = c.problem ? problemText(c.problem) : undefined;
    return <Frame tone="bad" title={x?.text ?? m.manualTitle} text={<>{x ? <><Rich>{x.remedy}</Rich> </> : null}{m.manualText}</>}><Reconnect kind="primary" {...(c.transport === "remote" ? { label: m.reconnect } : { label: m.startServer })} /></Frame>;
  }
  if (c?.state === "offline" && profiles.value.some((p) => p.selected && !p.enabled)) return <Frame tone="attn" title={m.disabledTitle} text={<>{m.enableWhat} {m.host}: <code>{c.host}</code></>}><Reconnect kind="primary" /></Frame>;
  if (c?.state === "offline") return <Frame tone="attn" title={m.offlineTitle} text={m.offlineText}><Reconnect kind="primary" {...(c.transport === "remote" ? { label: m.reconnect } : { label: m.startServer })} /></Frame>;
  if (head?.mode === "viewing" && head.waits) return <Frame tone="attn" title={m.waitsTitle} text={m.waitsText}><Join thread={head.thread.id} label={m.joinToAnswer} primary /><Button onClick={() => void interrupt()}>{m.interrupt}</Button></Frame>;
  if (head?.mode === "joined" && head.waits) return <Frame tone="attn" title={m.waitsUnseenTitle} text={m.waitsUnseenText}><Button onClick={() => void interrupt()}>{m.interrupt}</Button></Frame>;
  const lost = syncFailed.value.get(current.value) ?? syncFailed.value.get("");
  if (head && lost) {
    const x = problemText(lost.problem);
    return <Frame tone="attn" title={x.text} text={<Rich>{x.remedy}</Rich>}><Button onClick={() => void attempt(head.thread.id, "thread.sync", { thread: head.thread.id }, "read")}>{m.readAgain}</Button></Frame>;
  }
  if (head?.problem) {
    const x = problemText(head.problem);
    return <Frame tone="attn" title={x.text} text={<Rich>{x.remedy}</Rich>} />;
  }
  return null;
}

function Frame({ tone, title, text, children }: { tone: "attn" | "bad"; title: string; text: ComponentChildren; children?: ComponentChildren }) {
  const id = useId();
  return (
    <section class={"banner " + tone} aria-labelledby={id}>
      <div class="banner-t"><h2 id={id}>{title}</h2><p>{text}</p></div>
      {children ? <div class="row">{children}</div> : null}
    </section>
  );
}
