// The dialogs of the page: help, settings, connection, search, plain page, leaving.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem, SearchHit } from "../contract";
import { Icon } from "../parts/Icon";
import { Button, CopyButton, Dialog, ProblemNote, Rich } from "../parts/parts";
import { LinkError } from "../link/types";
import { num } from "../state/format";
import { ask, cards, codexVersion, connected, current, dialog, leaving, link, notices, opened, outcomes, relayVersion, seek, show, threads } from "../state/page";
import { attempt, ofList } from "../state/trouble";
import { rows } from "../feed/rows";
import { change, settings, type Settings } from "../state/settings";
import { useSay } from "../state/say";
import { problemText, texts } from "../text";
import { visible } from "../visible";
import { ConnectionDialog, Ending, Profiles } from "./connect";
import { ending } from "./end";
import { plainText } from "./plain";

const close = () => { dialog.value = ""; };

export function Dialogs() {
  const open = dialog.value;
  return (
    <>
      {open === "help" ? <Help /> : open === "settings" ? <SettingsDialog /> : open === "connection" ? <ConnectionDialog /> : open === "profiles" ? <Profiles /> : open === "search" ? <SearchDialog /> : open === "plain" ? <PlainDialog /> : null}
      {ending.value ? <Ending end={ending.value} /> : null}
      {leaving.value !== undefined ? <Leaving href={leaving.value} /> : null}
    </>
  );
}

function Help() {
  const m = texts.value;
  const enter = settings.value.enter === "enter";
  return (
    <Dialog title={m.keyboard} class="help" onClose={close}>
      <div class="keys">
        <section aria-labelledby="k1"><h3 id="k1">{m.keysMove}</h3><dl>
          <dt><kbd>F6</kbd> / <kbd>Shift</kbd> <kbd>F6</kbd></dt><dd>{m.keyArea}</dd>
          <dt><kbd>Page Up</kbd> / <kbd>Page Down</kbd></dt><dd>{m.keyItem}</dd>
          <dt><kbd>Ctrl</kbd> <kbd>Home</kbd> / <kbd>End</kbd></dt><dd>{m.keyLeave}</dd>
          <dt><kbd>Tab</kbd></dt><dd>{m.keyTab}</dd></dl></section>
        <section aria-labelledby="k2"><h3 id="k2">{m.keysWrite}</h3><dl>
          <dt>{enter ? <kbd>Enter</kbd> : <><kbd>Ctrl</kbd> <kbd>Enter</kbd></>}</dt><dd>{m.keySend}</dd>
          <dt>{enter ? <><kbd>Shift</kbd> <kbd>Enter</kbd></> : <kbd>Enter</kbd>}</dt><dd>{m.keyNewLine}</dd>
          <dt><kbd>Ctrl</kbd> <kbd>.</kbd> / <kbd>⌘</kbd> <kbd>.</kbd></dt><dd>{m.keyInterrupt}</dd></dl>
          <h3>{m.keysFind}</h3><dl>
            <dt><kbd>Ctrl</kbd> <kbd>K</kbd> / <kbd>⌘</kbd> <kbd>K</kbd></dt><dd>{m.search}</dd>
            <dt><kbd>?</kbd></dt><dd>{m.keyHelp}</dd>
            <dt><kbd>Esc</kbd></dt><dd>{m.keyEsc}</dd></dl></section>
      </div>
      <p class="muted">{m.noSingleKey}</p>
      <p class="muted">{relayVersion.value ? <>relaycodex {relayVersion.value}{m.comma}{m.builtFor} codex {codexVersion.value}{m.comma}</> : null}<a href="/LICENSES.txt" target="_blank" rel="noreferrer">{m.licences}</a></p>
      <div class="row end"><Button autofocus onClick={close}>{m.close}</Button></div>
    </Dialog>
  );
}

function SettingsDialog() {
  const m = texts.value;
  const group = <K extends keyof Settings>(k: K, legend: string, options: [Settings[K], string][], hint?: string) => (
    <fieldset class="group"><legend>{legend}</legend>
      {options.map(([v, word]) => <label key={v} class="opt"><input type="radio" name={"s-" + k} checked={settings.value[k] === v} onChange={() => change(k, v)} /><span>{word}</span></label>)}
      {hint ? <p class="hint">{hint}</p> : null}
    </fieldset>
  );
  return (
    <Dialog title={m.settings} onClose={close}>
      <div class="form">
        {group("theme", m.theme, [["system", m.themeSystem], ["light", m.themeLight], ["dark", m.themeDark]])}
        {group("language", m.language, [["auto", m.languageAuto], ["en", "English"], ["ja", "日本語"]])}
        {group("enter", m.enterDoes, [["enter", m.enterSends], ["ctrl", m.ctrlEnterSends]], m.enterIme)}
        {group("announce", m.announcements, [["all", m.announceAll], ["important", m.announceImportant]], m.announceWhat)}
        {group("helpKey", m.helpKey, [["on", m.helpKeyOn], ["off", m.helpKeyOff]])}
      </div>
      <p class="muted">{m.settingsKept}</p>
      <div class="row end"><Button autofocus onClick={close}>{m.close}</Button></div>
    </Dialog>
  );
}

function SearchDialog() {
  const m = texts.value;
  const box = useRef<HTMLInputElement>(null);
  const [query, setQuery] = useState("");
  const [where, setWhere] = useState<"thread" | "names">(current.peek() === "" ? "names" : "thread");
  const [hits, setHits] = useState<{ of: string; hits: readonly SearchHit[]; more: boolean } | undefined>(undefined);
  const [named, setNamed] = useState<string | undefined>(undefined);
  const [problem, setProblem] = useState<Problem | "lost" | undefined>(undefined);
  const [round, setRound] = useState(0);
  const filtered = useRef(false);
  const thread = current.value;
  const t = opened.value;

  useEffect(() => {
    const q = query.trim();
    setProblem(undefined);
    if (q === "") {
      setHits(undefined);
      setNamed(undefined);
      return;
    }
    let gone = false;
    const timer = setTimeout(async () => {
      if (where === "thread") {
        const r = await ask("search", { thread, text: q });
        if (gone) return;
        if (r.done && r.value) setHits({ of: q, ...r.value });
        else setProblem((!r.done && r.problem) || "lost");
      } else {
        filtered.current = true;
        const r = await ask("thread.list", { search: q });
        if (gone) return;
        if (r.done) setNamed(q);
        else setProblem(r.problem ?? "lost");
      }
    }, 200);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [query, where, thread, round]);
  // The list is one for all tabs: the search does not stay in it.
  useEffect(() => () => { if (filtered.current) void attempt(ofList, "thread.list", {}); }, []);
  useEffect(() => { box.current?.focus(); }, []);

  const told = problem === "lost" ? m.lost : problem ? problemText(problem).text : where === "thread" && hits ? (hits.more ? m.hitsMore(hits.hits.length) : m.hits(hits.hits.length)) + " " + m.hitsOf(num(t?.total ?? 0)) : where === "names" && named !== undefined ? m.hitNames(threads.value.length) : m.browserFind;
  // Only what was found is news; the hint that stands there until then would be heard first and hold the result back.
  useSay("polite", query.trim() !== "" && (problem || (where === "thread" ? hits : named !== undefined)) ? told : "");
  const go = (h: SearchHit) => {
    close();
    seek.value = { thread, item: h.item };
  };
  return (
    <Dialog title={m.search} hideTitle class="top" onClose={close}>
      <form role="search" onSubmit={(e) => { e.preventDefault(); setRound(round + 1); }}>
        <div class="searchline"><Icon name="find" /><label class="vh" for="s-q">{m.searchFor}</label><input ref={box} id="s-q" type="search" autocomplete="off" value={query} onInput={(e) => setQuery(e.currentTarget.value)} /><Button kind="quiet" onClick={close}>{m.close}</Button></div>
        <fieldset class="group inline"><legend class="vh">{m.searchWhere}</legend>
          <label class="opt"><input type="radio" name="sw" checked={where === "thread"} disabled={thread === "" || !t} onChange={() => setWhere("thread")} /><span>{m.inThread}</span></label>
          <label class="opt"><input type="radio" name="sw" checked={where === "names"} disabled={!connected.value} onChange={() => setWhere("names")} /><span>{m.inNames}</span></label></fieldset>
      </form>
      <p class="muted">{told}</p>
      {where === "thread" && hits ? (
        <ul class="hits">{hits.hits.map((h) => <li key={h.item}><a href="#transcript" onClick={(e) => { e.preventDefault(); go(h); }}><span class="who">{whoOf(h)}</span> <span class="hit"><Hit text={h.shown} query={hits.of} /></span> <span class="meta">{num(h.position + 1)}</span></a></li>)}</ul>
      ) : where === "names" && named !== undefined ? (
        <ul class="hits">{threads.value.map((x) => <li key={x.id}><a href="#thread" onClick={(e) => { e.preventDefault(); close(); void show(x.id); }}><span class="who">{m.thread}</span> <span class="hit">{x.shownTitle ? <q class="title"><Hit text={x.shownTitle} query={named} /></q> : m.untitled}</span></a></li>)}</ul>
      ) : null}
      {where === "thread" && t?.head.older ? <div class="row"><Button kind="quiet" disabled={!connected.value} onClick={async () => { const r = await ask("thread.older", { thread }); if (r.done) setRound(round + 1); else setProblem(r.problem ?? "lost"); }}>{m.searchOlder}</Button></div> : null}
    </Dialog>
  );
}

function whoOf(h: SearchHit): string {
  const m = texts.peek();
  const item = link().state.peek()?.open.get(current.peek())?.items.find((i) => i.id === h.item);
  switch (item?.type) {
    case "userMessage": return m.you;
    case "agentMessage": return "Codex";
    case "commandExecution": return m.command;
    case "fileChange": return m.files;
    case "mcpToolCall": return "MCP";
    case "reasoning": return m.reasoning;
    case "plan": return m.plan;
  }
  return m.item;
}

function Hit({ text, query }: { text: string; query: string }) {
  const at = text.toLowerCase().indexOf(query.toLowerCase());
  if (at < 0) return <>{text}</>;
  const from = Math.max(0, at - 40);
  return <>{from > 0 ? "…" : ""}{text.slice(from, at)}<mark>{text.slice(at, at + query.length)}</mark>{text.slice(at + query.length, at + 160)}</>;
}

/** Everything of the thread as one plain text: the browser's own find, reading modes and printing see all of it. */
function PlainDialog() {
  const m = texts.value;
  const t = opened.value;
  const id = t?.head.thread.id ?? "";
  const first = t?.first ?? 0;
  const [problem, setProblem] = useState<Problem | "lost" | undefined>(undefined);
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (first === 0) return;
    let gone = false;
    setProblem(undefined);
    void (async () => {
      const p = await link().before(id, 200).then((r) => (r.status === "done" ? undefined : r.problem ?? "lost"), (e: unknown) => {
        if (e instanceof LinkError) return e.problem ?? ("lost" as const);
        throw e;
      });
      if (!gone) setProblem(p);
    })();
    return () => { gone = true; };
  }, [first, id, round]);
  const text = t ? plainText(m, rows({ head: t.head, items: t.items, cards: cards.value, outcomes: outcomes.value, notices: notices.value })) : "";
  return (
    <Dialog title={t?.head.thread.shownTitle ? m.quoted(t.head.thread.shownTitle) : m.untitled} class="plainview" onClose={close}>
      <p class="muted">{m.plainWhat} {t?.head.older ? m.plainOlder : ""} {first > 0 && !problem ? m.readingEarlier : ""}</p>
      {problem ? <div class="trouble">{problem === "lost" ? <p class="err">{m.lost}</p> : <ProblemNote problem={problem} />}<Button onClick={() => setRound(round + 1)}>{m.readAgain}</Button></div> : null}
      <div class="row"><Button autofocus onClick={close}>{m.close}</Button><CopyButton plain label={m.copyAll} text={() => text} /></div>
      <pre class="wrap" tabIndex={0} role="group" aria-label={m.plainPage}>{text}</pre>
    </Dialog>
  );
}

/** An address that the model wrote: whole and literal, with the host as the network will see it. */
function Leaving({ href }: { href: string }) {
  const m = texts.value;
  const cancel = () => { leaving.value = undefined; };
  let url: URL | undefined;
  try {
    url = new URL(href);
  } catch {
    url = undefined;
  }
  const web = url && (url.protocol === "http:" || url.protocol === "https:") ? url : undefined;
  const literal = visible(href);
  return (
    <Dialog title={web ? m.openPage : m.notAPage} onClose={cancel}>
      <p>{m.linkFromAgent}</p>
      <pre class="out wrap" tabIndex={0} role="group" aria-label={m.address}><code>{literal}</code></pre>
      {web ? (
        <dl class="facts">
          <dt>{m.host}</dt><dd><b><code>{web.host}</code></b>{web.hostname.split(".").some((l) => l.startsWith("xn--")) ? <p class="attn-t"><Icon name="warn" tone="attn" /> {m.hostLooks}</p> : null}</dd>
          {visible(web.href) === literal ? null : <><dt>{m.goesTo}</dt><dd><code>{visible(web.href)}</code></dd></>}
          {web.username || web.password ? <><dt>{m.signIn}</dt><dd class="attn-t"><Icon name="warn" tone="attn" /> {m.urlHasUser}</dd></> : null}
          {web.protocol === "http:" ? <><dt>{m.connectionWord}</dt><dd>{m.notEncrypted}</dd></> : null}
        </dl>
      ) : <p><Rich>{m.onlyCopy}</Rich></p>}
      <div class="row end">
        <Button autofocus onClick={cancel}>{m.stayHere}</Button>
        <CopyButton plain label={m.copyAddress} text={() => href} />
        {web ? <Button icon="out" onClick={() => { window.open(web.href, "_blank", "noopener,noreferrer"); cancel(); }}>{m.openInTab}</Button> : null}
      </div>
    </Dialog>
  );
}
