// One request. It names thread, profile and host, shows what is judged whole and literally, and offers the server's choices in
// the server's order, none of them preferred.
import type { ComponentChildren } from "preact";
import { useId, useMemo, useRef, useState } from "preact/hooks";
import type { Answer, Card, Choice, Problem } from "../contract";
import { memo } from "../parts/memo";
import { ProblemNote, Tag, Time } from "../parts/parts";
import { num } from "../state/format";
import { ask, current, live, show } from "../state/page";
import { useSay } from "../state/say";
import { problemText, texts, type Messages } from "../text";
import { useArmed } from "./armed";
import { Form } from "./Form";
import { ReadingContext, HostName, Inline, ReadingEnd, type Reading } from "./Literal";
import { CommandBody, FileBody, ToolBody } from "./bodies";
import { Permissions } from "./Permissions";
import { Questions } from "./Questions";
import { choose } from "./settled";
import { askTitle, choiceName } from "./title";

export interface Acting {
  /** The choices may be used: the card stands still, the worker is there, nothing is on its way. */
  usable: boolean;
  /** What accepting still needs, if anything. */
  unread: boolean;
  act(name: string, answer: Omit<Answer, "card">, accepts: boolean, e: Event): void;
  hint: string;
}

export const Ask = memo(function Ask({ card, open, onToggle }: { card: Card; open: boolean; onToggle: (open: boolean) => void }) {
  const m = texts.value;
  const head = useId(), body = useId();
  const ref = useRef<HTMLElement>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | "lost" | undefined>(undefined);
  const [why, setWhy] = useState("");
  const here = live.value;
  const active = open && here && !busy && card.state === "pending";
  const asked = useAsked(card);
  const { armed, check } = useArmed(ref, active, asked);
  const { reading, unread } = useReading(card, asked);
  // What was never unfolded is not drawn: a server may ask for as much and as often as it likes.
  const drawn = useRef(false);
  drawn.current ||= open;

  useSay("alert", why);
  useSay("alert", problem === "lost" ? m.answerLost : problem ? problemText(problem).text : "");

  const act: Acting["act"] = async (name, answer, accepts, e) => {
    if (e instanceof MouseEvent && e.detail > 1) return; // the second half of a double click
    if (!check()) {
      setWhy(here ? m.justMoved : m.needsYouStale);
      return;
    }
    if (accepts && unread) {
      setWhy(m.readFirst);
      return;
    }
    setWhy("");
    setBusy(true);
    setProblem(undefined);
    choose(card.id, name);
    const r = await ask("card.answer", { card: card.id, ...answer, ...(card.long && !unread ? { seenEnd: true } : {}) });
    setBusy(false);
    if (!r.done) setProblem(r.problem ?? "lost");
  };
  const acting: Acting = { usable: armed && active, unread: !!card.long && unread, act, hint: why };

  return (
    <article ref={ref} class={"ask" + (open ? "" : " folded")} aria-labelledby={head} data-card={card.id} onKeyDownCapture={held}>
      <div class="ask-h">
        <h3 id={head}>{askTitle(m, card)}</h3>
        {card.questions && !card.questions.blocking ? <Tag icon="ring">{m.notBlocking}</Tag> : null}
        {card.kind === "form" || card.kind === "mcp_tool" ? <Tag icon="plug">MCP</Tag> : null}
        <Time ms={card.atMs} />
        <button type="button" class="fold-btn" aria-expanded={open} aria-controls={body} onClick={() => onToggle(!open)}><span class="vh">{open ? m.fold : m.unfold} {askTitle(m, card)}</span></button>
      </div>
      <div id={body} class="ask-b" hidden={!open}>
        {drawn.current ? <ReadingContext.Provider value={reading}>
          <Body card={card} acting={acting}>
            <dl class="where">
              <div><dt>{m.profile}</dt><dd>{card.place.profile}</dd></div>
              <div><dt>{m.host}</dt><dd>{card.place.host === "local" ? m.thisMachine : card.place.host}</dd></div>
              <div><dt>{m.thread}</dt><dd>{card.thread === current.value ? <Title of={card.shownThread} /> : <button type="button" class="lnk-btn" onClick={() => void show(card.thread)}><Title of={card.shownThread} /></button>}</dd></div>
            </dl>
            {card.long ? <ReadingEnd /> : null}
          </Body>
        </ReadingContext.Provider> : null}
        {why ? <p class="hint why">{why}</p> : null}
        {card.state === "answering" || busy ? <p class="hint">{m.answering}</p> : null}
        {problem === "lost" ? <p class="err">{m.answerLost}</p> : problem ? <ProblemNote problem={problem} /> : null}
      </div>
    </article>
  );
});

/** A thread's title is the server's word: quoted, and after our own facts. */
function Title({ of }: { of: string }) {
  return of ? <q>{of}</q> : <>{texts.value.untitled}</>;
}

/** A key that is held down repeats; it was pressed for something else than what is there by now. */
function held(e: KeyboardEvent): void {
  if (e.key === "Enter" && e.repeat && !(e.target instanceof HTMLTextAreaElement)) e.preventDefault();
}

/** All that is judged, and what it can be answered with. */
function useAsked(card: Card): string {
  const parts = [card.command, card.file, card.permissions, card.questions, card.tool, card.form, card.choices];
  return useMemo(() => JSON.stringify(parts), parts);
}

/** What of the card was seen to its end. It begins anew when what is judged changes. */
function useReading(card: Card, content: string): { reading: Reading; unread: boolean } {
  const [seen, setSeen] = useState<{ of: string; all: ReadonlySet<string>; done: ReadonlySet<string> }>({ of: content, all: new Set(), done: new Set() });
  const now = seen.of === content ? seen : { of: content, all: new Set<string>(), done: new Set<string>() };
  const reading = useMemo<Reading>(() => ({
    register: (id) => setSeen((s) => (s.of === content ? { ...s, all: new Set([...s.all, id]) } : { of: content, all: new Set([id]), done: new Set() })),
    seen: (id) => setSeen((s) => (s.of === content ? { ...s, done: new Set([...s.done, id]) } : { of: content, all: new Set([id]), done: new Set([id]) })),
  }), [content]);
  const unread = !!card.long && (now.all.size === 0 || [...now.all].some((id) => !now.done.has(id)));
  return { reading, unread };
}

function Body({ card, acting, children }: { card: Card; acting: Acting; children: ComponentChildren }) {
  switch (card.kind) {
    case "command":
      return card.command ? <><CommandBody view={card.command} where={children} /><Choices card={card} acting={acting} /></> : null;
    case "file_change":
      return card.file ? <><FileBody view={card.file} where={children} /><Choices card={card} acting={acting} known={card.file.known} /></> : null;
    case "mcp_tool":
      return card.tool ? <><ToolBody view={card.tool} where={children} /><Choices card={card} acting={acting} /></> : null;
    case "permissions":
      return card.permissions ? <Permissions view={card.permissions} where={children} acting={acting} /> : null;
    case "question":
      return card.questions ? <Questions view={card.questions} where={children} acting={acting} /> : null;
    case "form":
      return card.form ? <Form view={card.form} where={children} acting={acting} /> : null;
  }
  return null;
}

export function Choices({ card, acting, known = true }: { card: Card; acting: Acting; known?: boolean }) {
  const m = texts.value;
  const choices = card.choices ?? [];
  return (
    <fieldset class="choices">
      <legend>{m.choices(choices.length, num(choices.length))}{acting.unread ? <> <span class="attn-t">{m.readFirst}</span></> : null}{known ? null : <> <span class="attn-t">{m.changesUnknown}</span></>}</legend>
      {choices.map((c) => <ChoiceButton key={c.id} choice={c} card={card} acting={acting} blocked={c.accepts && (acting.unread || !known)} />)}
    </fieldset>
  );
}

/** More than this of the server's text does not stand in a button: its name is read out whole, whenever it has the focus. */
const short = 200;

/** Whether what a choice changes for good stands above its button, and has an end of its own where the card is long. */
export function standsAbove(choice: Choice): boolean {
  const rule = choice.rule ?? [], host = choice.ruleHost;
  return rule.length > 20 || rule.reduce((n, t) => n + t.bytes, 0) + (host?.shown.length ?? 0) + (host?.unicode?.length ?? 0) > short;
}

function ChoiceButton({ choice, card, acting, blocked }: { choice: Choice; card: Card; acting: Acting; blocked: boolean }) {
  const m = texts.value;
  const n = choiceName(m, card, choice.kind);
  const id = useId();
  const above = standsAbove(choice);
  const inert = !acting.usable || blocked;
  return (
    <>
      {above ? <div id={id} class="rule-x" role="group" aria-label={n.name + m.comma + m.changesRule}><Change m={m} choice={choice} />{card.long ? <ReadingEnd /> : null}</div> : null}
      <button type="button" class={"choice" + (choice.changesRules ? " rule" : "")} aria-disabled={inert} data-choice={choice.kind} {...(above ? { "aria-details": id } : {})}
        onClick={(e) => { if (!(blocked && !acting.unread)) acting.act(n.name, { choice: choice.id }, choice.accepts, e); }}>
        <span class="choice-n">{n.name}{choice.changesRules ? <> <Tag icon="warn" tone="attn">{m.changesRule}</Tag></> : null}</span>
        <span class="choice-x">{above ? m.ruleAbove : choice.rule || choice.ruleHost ? <Change m={m} choice={choice} /> : n.what}</span>
        <code class="choice-r">{n.raw}</code>
      </button>
    </>
  );
}

/** What a choice changes for good. */
function Change({ m, choice }: { m: Messages; choice: Choice }) {
  if (choice.rule) return <>{m.ruleBegins} {choice.rule.map((t, i) => <span key={i}><Inline text={t} />{" "}</span>)}{m.ruleEnds}</>;
  if (choice.ruleHost) return <>{choice.ruleAction === "deny" ? m.ruleHostDeny : choice.ruleAction === "allow" ? m.ruleHostAllow : m.ruleHostOther} <HostName host={choice.ruleHost} /></>;
  return null;
}
