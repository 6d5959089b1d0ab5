// Pages without a thread: each says what is so and what to do.
import type { ComponentChildren } from "preact";
import { Icon } from "../parts/Icon";
import { Button, CopyButton, ProblemNote, Rich } from "../parts/parts";
import { codexVersion, connection, opening, phase, show } from "../state/page";
import { texts } from "../text";
import { Admit } from "./Admit";
import { ofConnection } from "../state/trouble";
import { Reconnect } from "./Reconnect";
import { Troubled } from "./Troubled";

function Sheet({ title, children }: { title: string; children: ComponentChildren }) {
  return <main class="page" id="page" tabIndex={-1} aria-labelledby="h-page"><div class="sheet"><h1 id="h-page">{title}</h1>{children}</div></main>;
}

/** Before the first snapshot. */
export function Before() {
  const m = texts.value;
  switch (phase.value.name) {
    case "refused":
      return <Sheet title={m.refusedTitle}><p>{m.refusedFirst}</p><Command text="relaycodex url" /><Admit /></Sheet>;
    case "mismatch":
      return <Sheet title={m.connMismatch}><p>{m.mismatchText}</p><div class="row"><Button onClick={() => location.reload()}>{m.reload}</Button></div></Sheet>;
    case "lost":
      return <Sheet title={m.lostTitle}><p>{m.lostFirst}</p></Sheet>;
  }
  return <Sheet title={m.connStarting}><p><Icon name="arc" spin /> {m.startingText}</p></Sheet>;
}

function Command({ text }: { text: string }) {
  return <div class="copyline"><code>{text}</code><CopyButton plain label={texts.value.copy} text={() => text} /></div>;
}

export function NoCodex() {
  const m = texts.value;
  const p = connection.value?.problem;
  return (
    <Sheet title={m.noCodexTitle}>
      <p><Rich>{m.noCodexText}</Rich></p>
      <ul class="tried">
        {p?.variant === "path"
          ? <li><Icon name="cross" /><code>{p.args?.["target"] ?? ""}</code> <span class="muted">{m.noCodexPath}</span></li>
          : <li><Icon name="cross" /><code>PATH</code> <span class="muted">{m.noCodexInPath}</span></li>}
      </ul>
      <section class="way" aria-labelledby="w1"><h2 id="w1">{m.wayInstall}</h2>
        <p>{m.wayInstallText(codexVersion.value)}</p>
        <Command text={`npm install --global @openai/codex@${codexVersion.value}`} />
        <div class="row"><Reconnect kind="primary" label={m.lookAgain} /></div>
        <Troubled place={ofConnection} /></section>
      <section class="way" aria-labelledby="w2"><h2 id="w2">{m.waySay}</h2>
        <p><Rich>{m.waySayText}</Rich></p>
        <Command text={"profiles:\n  - {name: local, codex: /path/to/codex}"} /></section>
      <section class="way" aria-labelledby="w3"><h2 id="w3">{m.wayRemote}</h2>
        <p><Rich>{m.wayRemoteText}</Rich></p></section>
    </Sheet>
  );
}

/** A thread that is being read, or could not be. */
export function Opening() {
  const m = texts.value;
  const o = opening.value;
  if (!o) return null;
  return (
    <div class="scroll"><div class="col">
      {o.problem || o.lost ? <>
        {o.problem ? <ProblemNote problem={o.problem} title={m.notRead} /> : <p class="err">{m.lost}</p>}
        <div class="row"><Button onClick={() => void show(o.thread)}>{m.readAgain}</Button></div>
      </> : <p class="older"><Icon name="arc" spin />{m.readingThread}</p>}
    </div></div>
  );
}
