// The message box. Its text is a draft that nothing but the person takes away.
import { computed } from "@preact/signals";
import { useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button, copy } from "../parts/parts";
import { Troubled } from "../shell/Troubled";
import { aside, dropAside, setText, takeBack, textOf, type Aside } from "../state/drafts";
import { connected, current, link, live, models, opened, opening, owner, threads, waiting } from "../state/page";
import { settings } from "../state/settings";
import { useSay } from "../state/say";
import { attempt } from "../state/trouble";
import { texts } from "../text";
import { sends } from "./keys";
import { chooseNext, fresh, interrupt, next, sendDraft, sending } from "./send";

/** The thread is not there (yet). One that was just begun has no head yet: the box stays, and the focus in it. */
const absent = computed(() => current.value !== "" && !opened.value && (!connected.value || opening.value !== undefined));
/** Whether there is anything to write in or to copy from. */
export const hasBox = computed(() => !absent.value || textOf(current.value).value.trim() !== "");

export function Composer() {
  const m = texts.value;
  const thread = current.value;
  const head = opened.value?.head;
  return (
    <form class="composer" aria-label={m.message} onSubmit={(e) => { e.preventDefault(); if (connected.value && (thread === "" || (head?.mode === "joined" && !head.stale))) void sendDraft(thread); }}>
      <div class="col">
        <SetAside />
        <Troubled place={thread} />
        {absent.value ? <Kept thread={thread} /> : <Box thread={thread} />}
      </div>
    </form>
  );
}

/** Joining is explicit: it takes the writer's place on the server (R-REC-05). */
export function Join({ thread, label, primary }: { thread: string; label?: string; primary?: boolean }) {
  const m = texts.value;
  const [busy, setBusy] = useState(false);
  const join = async () => {
    if (busy) return;
    setBusy(true);
    await attempt(thread, "thread.join", { thread });
    setBusy(false);
  };
  const button = <Button busy={busy} onClick={() => void join()}>{busy ? m.joining : label ?? m.joinThread}</Button>;
  if (primary) return button;
  // A turn that is only watched may be another client's, and nobody else may be there to end it.
  const running = opened.value?.head.turnStatus === "running";
  return <div class="join"><p>{running ? m.joinWhileRunning : m.joinToSend}</p>{button}{running ? <Button icon="stop" onClick={() => void interrupt()}>{m.interrupt}</Button> : null}</div>;
}

/** A text whose thread is not open (yet): to look at and to copy. */
function Kept({ thread }: { thread: string }) {
  const m = texts.value;
  const text = useMemo(() => textOf(thread), [thread]);
  if (text.value.trim() === "") return null;
  return (
    <div class="box kept">
      <textarea id="composer" aria-label={m.yourDraft} readOnly value={text.value} rows={2} />
      <div class="tools"><span class="muted pad-i">{m.draftKept}</span><span class="grow" /><Button icon="copy" onClick={() => void copy(text.value)}>{m.copyDraft}</Button></div>
    </div>
  );
}

/** Texts that stand in no box: another owner's, for copying only, and those that lost against another tab's. */
function SetAside() {
  return (
    <>
      {aside.value.map((a) => (
        <Left key={a.id} a={a} />
      ))}
    </>
  );
}

function Left({ a }: { a: Aside }) {
  const m = texts.value;
  const tabs = a.why === "tabs", thread = threads.value.find((t) => t.id === a.thread)?.shownTitle;
  useSay("polite", tabs ? m.asideTabs : "");
  return (
    <section class="draft" aria-label={tabs ? m.asideTabs : m.setAside}>
      <p class="muted">{tabs ? m.asideTabsWhy : m.setAsideWhy}{tabs && a.thread !== current.value && thread ? <> <q>{thread}</q></> : null}</p>
      <p class="typed">{a.text}</p>
      <div class="row"><Button icon="copy" onClick={() => void copy(a.text)}>{m.copy}</Button>{tabs && a.thread === current.value ? <Button onClick={() => takeBack(a)}>{m.asideTake}</Button> : null}<Button onClick={() => dropAside(a.id)}>{m.discard}</Button></div>
    </section>
  );
}

/**
 * The box is one and the same element whatever becomes of the connection or the thread, so that nobody is thrown out of it while
 * writing. What cannot be sent now can be written and copied.
 */
function Box({ thread }: { thread: string }) {
  const m = texts.value;
  const hint = useId();
  const ref = useRef<HTMLTextAreaElement>(null);
  const draft = useMemo(() => textOf(thread), [thread]);
  const text = draft.value; // read here, so that what another tab writes is drawn
  const composing = useRef(false);
  const whose = JSON.stringify([owner.value?.profile, owner.value?.account, owner.value?.root, thread]);
  const last = useRef(whose);
  const head = opened.value?.head;
  const running = thread !== "" && head?.turnStatus === "running";
  const busy = sending.value.has(thread) || (head?.busy ?? false);
  const why = !connected.value || (head?.stale ?? false) ? "offline" : head?.mode === "viewing" ? "viewing" : "";
  const can = why === "";
  // A value that comes from elsewhere (another tab, a sent message) never breaks into a composition. Another owner or thread
  // does: what is composed for one must not go on in the box of the other.
  useLayoutEffect(() => {
    const el = ref.current;
    if (last.current !== whose) composing.current = false;
    last.current = whose;
    if (el && !composing.current && el.value !== text) {
      const at = el.selectionStart;
      el.value = text;
      if (document.activeElement === el) el.setSelectionRange(Math.min(at, el.value.length), Math.min(at, el.value.length));
    }
    if (el) grow(el);
  }); // after every drawing: what the box shows is the draft, whatever element it is
  return (
    <>
      {why === "offline" ? <div class="join"><p>{live.value ? m.cannotSendOffline : m.cannotSendLost}</p></div> : why === "viewing" ? <Join thread={thread} /> : thread === "" ? <NewThread /> : null}
      <div class="box" key="box">
        <label class="vh" for="composer">{m.messageToCodex}</label>
        <textarea ref={ref} id="composer" rows={2} placeholder={can ? m.messageToCodex : m.draftHere} aria-describedby={hint} spellcheck
          onInput={(e) => { grow(e.currentTarget); setText(thread, e.currentTarget.value); }}
          onCompositionStart={() => { composing.current = true; }}
          onCompositionEnd={(e) => { composing.current = false; setText(thread, e.currentTarget.value); }}
          onKeyDown={(e) => {
            if (sends(e, settings.value.enter)) {
              e.preventDefault();
              if (can && !busy) void sendDraft(thread);
            }
          }} />
        <div class="tools">
          {can ? <NextTurn thread={thread} /> : <span class="muted pad-i">{m.draftKept}</span>}
          <span class="grow" />
          {!can ? <Button icon="copy" onClick={() => void copy(draft.peek())}>{m.copyDraft}</Button> : null}
          {running && can ? <Button icon="stop" onClick={() => void interrupt()} aria-keyshortcuts="Control+.">{m.interrupt}</Button> : null}
          {can ? <Button kind="primary" icon="up" type="submit" busy={busy}>{busy ? m.sendingNow : running ? m.sendToTurn : m.send}</Button> : null}
        </div>
      </div>
      <p class="hint keys-line" id={hint}>
        {!can ? null : settings.value.enter === "enter"
          ? <><span><kbd>Enter</kbd> {m.sendsKey}</span><span><kbd>Shift</kbd> <kbd>Enter</kbd> {m.newLineKey}</span></>
          : <><span><kbd>Ctrl</kbd> <kbd>Enter</kbd> {m.sendsKey}</span><span><kbd>Enter</kbd> {m.newLineKey}</span></>}
        {running && can ? <span><kbd>Ctrl</kbd> <kbd>.</kbd> {m.interruptKey}</span> : null}
        <span><kbd>F6</kbd> {m.nextAreaKey}</span>
        {waiting.value.length > 0 ? <span class="attn-t">{m.requestsOpen(waiting.value.length)}</span> : null}
      </p>
    </>
  );
}

/** Browsers without field-sizing get the height by hand. */
function grow(el: HTMLTextAreaElement): void {
  if (CSS.supports("field-sizing", "content")) return;
  el.style.blockSize = "auto";
  el.style.blockSize = `${el.scrollHeight + 2}px`;
}

function NextTurn({ thread }: { thread: string }) {
  const m = texts.value;
  const list = models.value;
  const chosen = next.value.get(thread) ?? {};
  const settings = opened.value?.head.settings;
  if (list.length === 0) return null;
  const present = chosen.model ?? settings?.model ?? "";
  const model = list.find((x) => x.id === present) ?? list.find((x) => x.default);
  const efforts = model?.efforts ?? [];
  return (
    <>
      <label class="next"><span class="vh">{m.nextModel}</span>
        <select class="pick" value={chosen.model ?? ""} onChange={(e) => { const v = e.currentTarget.value; chooseNext(thread, v ? { model: v } : {}); }}>
          <option value="">{settings?.model ? m.inheritsModel(settings.model) : m.inheritsNothing}</option>
          {list.map((x) => <option key={x.id} value={x.id}>{x.shownName || x.id}</option>)}
        </select></label>
      {efforts.length > 0 ? (
        <label class="next"><span class="vh">{m.nextEffort}</span>
          <select class="pick" value={chosen.effort ?? ""} onChange={(e) => { const v = e.currentTarget.value; chooseNext(thread, { ...(chosen.model ? { model: chosen.model } : {}), ...(v ? { effort: v } : {}) }); }}>
            <option value="">{m.inheritsEffort(!chosen.model && settings?.effort ? settings.effort : model?.effort ?? "")}</option>
            {efforts.map((x) => <option key={x} value={x}>{m.effortIs(x)}</option>)}
          </select></label>
      ) : null}
    </>
  );
}

/** How the new thread begins; every choice can be left to the server. */
function NewThread() {
  const m = texts.value;
  const f = fresh.value;
  const id = useId();
  const root = link().state.value?.owner?.root ?? "";
  const set = (k: keyof typeof f, v: string) => { const { [k]: _, ...rest } = f; fresh.value = v ? { ...rest, [k]: v } : rest; };
  return (
    <details class="begin"><summary><span>{m.howItBegins}</span> <span class="meta">{f.cwd || root}</span></summary>
      <div class="form">
        <div class="f"><label class="lbl" for={id + "c"}>{m.directory}</label><input id={id + "c"} class="field mono" spellcheck={false} autocapitalize="off" autocomplete="off" placeholder={root} value={f.cwd ?? ""} onInput={(e) => set("cwd", e.currentTarget.value)} /></div>
        <div class="f"><label class="lbl" for={id + "s"}>{m.sandbox}</label><select id={id + "s"} class="field" value={f.sandbox ?? ""} onChange={(e) => set("sandbox", e.currentTarget.value)}><option value="">{m.serversOwn}</option><option>read-only</option><option>workspace-write</option><option value="danger-full-access">{m.dangerFull}</option></select></div>
        <div class="f"><label class="lbl" for={id + "a"}>{m.approvals}</label><select id={id + "a"} class="field" value={f.approvalPolicy ?? ""} onChange={(e) => set("approvalPolicy", e.currentTarget.value)}><option value="">{m.serversOwn}</option><option>untrusted</option><option>on-request</option><option value="never">{m.approvalNever}</option></select></div>
      </div>
    </details>
  );
}
