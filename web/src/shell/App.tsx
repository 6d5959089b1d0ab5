// The frame: bar, threads, thread, details; in narrow windows the side panels are dialogs.
import { useSignalEffect } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { Composer, hasBox } from "../composer/Composer";
import { Dock } from "../dock/Dock";
import { Feed } from "../feed/Feed";
import { Button, Dialog, IconButton, ThreadTitle } from "../parts/parts";
import { connected, connection, current, dialog, leaving, opened, opening, panel, ready, threads, waiting } from "../state/page";
import { alert, polite } from "../state/say";
import { texts } from "../text";
import { Banner } from "./Banner";
import { Bar } from "./Bar";
import { Details } from "./Details";
import { ending } from "./end";
import { later } from "../parts/later";
import { Before, NoCodex, Opening } from "./Empty";
import { Threads } from "./Threads";

const Dialogs = later(async () => (await import("../rest")).Dialogs);

function useMedia(query: string): boolean {
  const [on, setOn] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const q = matchMedia(query);
    const f = () => setOn(q.matches);
    f();
    q.addEventListener("change", f);
    return () => q.removeEventListener("change", f);
  }, [query]);
  return on;
}

export function App() {
  const m = texts.value;
  return (
    <>
      <Skips />
      <p class="vh" role="status" id="say">{polite.value}</p>
      <p class="vh" role="alert" id="shout">{alert.value}</p>
      {ready.value ? <Main /> : <div class="app"><header class="bar" aria-label={m.bar}><span class="brand">relaycodex</span><span class="bar-actions"><IconButton icon="dials" label={m.settings} aria-haspopup="dialog" onClick={() => { dialog.value = "settings"; }} /><IconButton icon="help" label={m.help} aria-haspopup="dialog" onClick={() => { dialog.value = "help"; }} /></span></header><Before /></div>}
      {dialog.value !== "" || leaving.value !== undefined || ending.value ? <Dialogs /> : null}
    </>
  );
}

const jump = (id: string) => (e: Event) => {
  e.preventDefault();
  document.getElementById(id)?.focus();
};

function Skips() {
  const m = texts.value;
  const thread = ready.value && !noCodex();
  const content = thread ? "h-thread" : "page";
  return (
    <nav class="skips" aria-label={m.skips}>
      {thread && hasBox.value ? <a class="skip" href="#composer" onClick={jump("composer")}>{m.skipComposer}</a> : <a class="skip" href={"#" + content} onClick={jump(content)}>{m.skipContent}</a>}
      {thread && waiting.value.length > 0 ? <a class="skip" href="#needs" onClick={jump("h-needs")}>{m.skipNeeds}</a> : null}
    </nav>
  );
}

/** Nothing was found to start, and there is nothing to read either. */
function noCodex(): boolean {
  const c = connection.value;
  return c?.state === "waitingForManualReconnect" && c.transport === "local" && c.problem?.code === "codex.not_found" && !opened.value && threads.value.length === 0;
}

function Main() {
  const m = texts.value;
  const narrow = useMedia("(max-width: 56em)"), mid = useMedia("(max-width: 82em)");
  const which = panel.value;
  useSignalEffect(() => {
    const n = waiting.value.length;
    const title = opened.value?.head.thread.shownTitle;
    document.title = `${n > 0 ? `(${n}) ` : ""}${title ? texts.value.quoted(title) + " - " : ""}relaycodex`;
  });
  if (noCodex()) return <div class="app"><Bar /><NoCodex /></div>;
  const showDetails = !mid || (which === "details" && !narrow);
  return (
    <div class={"app" + (mid && !narrow && which === "details" ? " with-details" : "")}>
      <Bar />
      {narrow || (mid && which === "details") ? null : <nav class="threads" aria-labelledby="h-threads"><Threads /></nav>}
      <Thread />
      {showDetails ? <aside class="details" aria-labelledby="h-details"><Details /></aside> : null}
      {narrow && which === "threads" ? <Dialog title={m.threads} hideTitle class="drawer" onClose={() => { panel.value = ""; }}><Threads closable /></Dialog> : null}
      {narrow && which === "details" ? <Dialog title={m.details} hideTitle class="drawer right" onClose={() => { panel.value = ""; }}><Details closable /></Dialog> : null}
    </div>
  );
}

function Thread() {
  const m = texts.value;
  const t = opened.value;
  const id = current.value;
  const listed = threads.value.find((x) => x.id === id);
  const given = id === "" ? "" : t?.head.thread.shownTitle || listed?.shownTitle || "";
  return (
    <main class="main" aria-labelledby="h-thread">
      <div class="thread-h">
        <h1 id="h-thread" tabIndex={-1} {...(given ? { title: m.quoted(given) } : {})}><ThreadTitle given={given} own={id === "" ? m.newThread : m.untitled} /></h1>
        {t?.head.thread.shownCwd ? <span class="path" title={t.head.thread.shownCwd}><span class="vh">{m.root} </span>{t.head.thread.shownCwd}</span> : null}
        <span class="grow" />
        {t ? <Button kind="quiet" class="wide-only" aria-haspopup="dialog" onClick={() => { dialog.value = "plain"; }}>{m.plainPage}</Button> : null}
        <IconButton icon="pane" class="only-mid" label={m.threadDetails} aria-expanded={panel.value === "details"} onClick={() => { panel.value = panel.value === "details" ? "" : "details"; }} />
      </div>
      <Banner />
      {t ? <Feed thread={t} /> : id !== "" && opening.value ? <Opening /> : <div class="scroll"><div class="col"><Welcome /></div></div>}
      <Dock />
      <Composer />
    </main>
  );
}

function Welcome() {
  const m = texts.value;
  return <p class="muted empty">{connected.value ? (threads.value.length === 0 ? m.welcomeFirst : m.welcome) : m.welcomeOffline}</p>;
}
