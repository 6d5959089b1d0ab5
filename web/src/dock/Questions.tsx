// Questions: selecting answers nothing, only Submit does (R-INT-02).
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import type { QuestionsView, QuestionView, Reply } from "../contract";
import { Button } from "../parts/parts";
import { texts } from "../text";
import type { Acting } from "./Ask";
import { Inline } from "./Literal";

interface Given {
  option?: string | undefined; // an option's id, or "other"
  text: string;
}

/** The replies of an answer: what was left out stays unanswered. Pure. */
export function replies(view: QuestionsView, given: ReadonlyMap<string, Given>): Record<string, Reply> {
  const out: Record<string, Reply> = {};
  for (const q of view.questions) {
    const g = given.get(q.id);
    if (!g) continue;
    const text = g.text.trim();
    if (q.freeText || g.option === "other") {
      if (text !== "") out[q.id] = { text: g.text };
    } else if (g.option !== undefined) out[q.id] = { option: g.option };
  }
  return out;
}

export function Questions({ view, where, acting }: { view: QuestionsView; where: ComponentChildren; acting: Acting }) {
  const m = texts.value;
  const [given, setGiven] = useState<ReadonlyMap<string, Given>>(new Map());
  const [empty, setEmpty] = useState(false);
  const set = (id: string, g: Given) => {
    setGiven(new Map(given).set(id, g));
    setEmpty(false);
  };
  const answer = replies(view, given);
  return (
    <form noValidate onSubmit={(e) => {
      e.preventDefault();
      if (Object.keys(answer).length === 0) setEmpty(true);
      else acting.act(m.answersSent, { replies: answer }, false, e);
    }}>
      {view.questions.map((q) => <Question key={q.id} q={q} given={given.get(q.id) ?? { text: "" }} set={(g) => set(q.id, g)} />)}
      {where}
      <div class="row"><Button kind="primary" type="submit" aria-disabled={!acting.usable} data-choice="submit">{m.submitAnswers}</Button><span class="muted">{empty ? m.answerOne : m.onlySubmit}</span></div>
    </form>
  );
}

function Question({ q, given, set }: { q: QuestionView; given: Given; set: (g: Given) => void }) {
  const m = texts.value;
  const name = useId(), label = useId(), more = useId();
  const header = q.header.bytes > 0 ? <span class="muted"><Inline text={q.header} /> </span> : null;
  if (q.freeText) {
    return (
      <div class="group" role="group" aria-labelledby={label}>
        <p class="lbl" id={label}>{header}<Inline text={q.question} /></p>
        <textarea class="field" rows={2} aria-labelledby={label} value={given.text} onInput={(e) => set({ text: e.currentTarget.value })} />
      </div>
    );
  }
  return (
    <fieldset class="group">
      <legend>{header}<Inline text={q.question} /></legend>
      {(q.options ?? []).map((o) => (
        <label key={o.id} class="opt"><input type="radio" name={name} checked={given.option === o.id} onChange={() => set({ ...given, option: o.id })} /><span><b><Inline text={o.label} /></b>{o.description.bytes > 0 ? <span class="opt-x"><Inline text={o.description} /></span> : null}</span></label>
      ))}
      {q.other ? <label class="opt"><input type="radio" name={name} checked={given.option === "other"} onChange={() => set({ ...given, option: "other" })} /><span><b>{m.somethingElse}</b></span></label> : null}
      {given.option === "other" ? <input id={more} class="field sub" aria-label={m.somethingElse} value={given.text} onInput={(e) => set({ option: "other", text: e.currentTarget.value })} /> : null}
      <span class={given.option === undefined ? "kept-free" : ""}><Button kind="quiet" onClick={() => set({ text: given.text })}>{m.clearChoice}</Button></span>
    </fieldset>
  );
}
