// An MCP form: judged here on submit, then on change, and again by the worker (R-INT-04).
import type { ComponentChildren } from "preact";
import { useId, useMemo, useRef, useState } from "preact/hooks";
import type { FieldView, FormView, OptionView, Text } from "../contract";
import { Icon } from "../parts/Icon";
import { Button } from "../parts/parts";
import { num } from "../state/format";
import { texts, type Messages } from "../text";
import { visible } from "../visible";
import type { Acting } from "./Ask";
import { content, type Fault, type Input } from "./judge";
import { Inline, Literal, Quote } from "./Literal";

/** What the controls hold at first: the server's suggestions. They answer nothing by themselves. */
export function initial(fields: readonly FieldView[]): Record<string, Input> {
  const out: Record<string, Input> = {};
  for (const f of fields) {
    const d = f.default;
    if (typeof d === "string" || typeof d === "boolean") out[f.id] = d;
    else if (typeof d === "number") out[f.id] = String(d);
    else if (Array.isArray(d) && d.every((v) => typeof v === "string")) out[f.id] = d as string[];
    else if (f.kind === "boolean" && f.required) out[f.id] = false;
  }
  return out;
}

export function Form({ view, where, acting }: { view: FormView; where: ComponentChildren; acting: Acting }) {
  const m = texts.value;
  const prefix = useId();
  const summary = useRef<HTMLParagraphElement>(null);
  const [inputs, setInputs] = useState<Record<string, Input>>(() => initial(view.fields));
  const [tried, setTried] = useState(false);
  const judged = useMemo(() => content(view.fields, inputs), [view.fields, inputs]);
  const faults = tried && "faults" in judged ? judged.faults : {};
  const bad = view.fields.filter((f) => faults[f.id]);
  return (
    <form noValidate onSubmit={(e) => {
      e.preventDefault();
      setTried(true);
      if ("faults" in judged) requestAnimationFrame(() => summary.current?.focus());
      else acting.act(m.formSent, { choice: "accept", content: judged.content }, true, e);
    }}>
      <dl class="facts">
        <dt>{m.mcpServer}</dt><dd><Inline text={view.server} /></dd>
        <dt>{m.serverAsks}</dt><dd><Quote text={view.message} /></dd>
      </dl>
      <p class="muted">{m.formGoesTo}</p>
      {bad.length > 0 ? <p class="errsum" ref={summary} tabIndex={-1}><Icon name="warn" /><span>{m.toCorrect(bad.length)}</span> {bad.map((f) => <a key={f.id} href={"#" + prefix + f.id} onClick={(e) => { e.preventDefault(); document.getElementById(prefix + f.id)?.focus(); }}><FieldName f={f} /></a>)}</p> : null}
      <div class="form">
        {view.fields.map((f) => <Field key={f.id} f={f} id={prefix + f.id} value={inputs[f.id]} fault={faults[f.id]} set={(v) => setInputs({ ...inputs, [f.id]: v })} />)}
      </div>
      {where}
      <div class="row">
        <Button kind="primary" type="submit" aria-disabled={!acting.usable || acting.unread} data-choice="accept">{m.sendForm}</Button>
        <Button aria-disabled={!acting.usable} data-choice="decline" onClick={(e) => acting.act(m.declineForm, { choice: "decline" }, false, e)}>{m.declineForm}</Button>
        <Button aria-disabled={!acting.usable} data-choice="cancel" onClick={(e) => acting.act(m.dismiss, { choice: "cancel" }, false, e)}>{m.dismiss}</Button>
        {acting.unread ? <span class="muted">{m.readFirst}</span> : null}
      </div>
    </form>
  );
}

/** A text where no markup can stand: a line end is still seen, so that two names never look the same. */
export const oneLine = (t: Text) => t.lines.join(" ↵ ");

/** A suggestion that an input would not show whole, or not as it is: longer than the narrowest input, of lines, with what is not seen. */
export function suggestion(f: FieldView): Text | undefined {
  const d = f.default;
  if (f.kind !== "string" || typeof d !== "string") return undefined;
  const lines = d.split("\n").map((l) => visible(l).replace(/(?! )\p{Zs}/gu, (c) => "\\u{" + (c.codePointAt(0) ?? 0).toString(16).padStart(4, "0") + "}"));
  return d.length > 24 || lines[0] !== d ? { lines, bytes: new TextEncoder().encode(d).length } : undefined;
}

/** Whether a list of options would cut one of them: only the chosen one would be seen, in one line. */
export const cuts = (options: readonly OptionView[]) => options.some((o) => o.label.bytes > 40 || o.label.lines.length > 1);

function FieldName({ f }: { f: FieldView }) {
  return <Inline text={f.title ?? f.name} />;
}

function Field({ f, id, value, fault, set }: { f: FieldView; id: string; value: Input | undefined; fault: Fault | undefined; set: (v: Input) => void }) {
  const m = texts.value;
  const hint = limitHint(m, f);
  const described = [fault ? id + "-e" : "", hint ? id + "-x" : "", f.description ? id + "-d" : ""].filter(Boolean).join(" ");
  const aria = { ...(described ? { "aria-describedby": described } : {}), ...(fault ? { "aria-invalid": true } : {}), ...(f.required ? { "aria-required": true } : {}) };
  const given = suggestion(f);
  const after = (
    <>
      {given ? <div><p class="lbl">{m.suggested}</p><Literal text={given} label={m.suggested} /></div> : null}
      {f.description ? <p class="hint" id={id + "-d"}><Inline text={f.description} /></p> : null}
      {hint ? <p class="hint" id={id + "-x"}>{hint}</p> : null}
      {fault ? <p class="err" id={id + "-e"}><Icon name="warn" /><span>{faultText(m, f, fault)}</span></p> : null}
    </>
  );
  const label = <><FieldName f={f} /> {f.required ? <span class="req">{m.required}</span> : null}</>;
  switch (f.kind) {
    case "boolean":
      return <div class="f group"><label class="opt"><input id={id} type="checkbox" checked={value === true} {...aria} onChange={(e) => set(e.currentTarget.checked)} /><span>{label}</span></label>{after}</div>;
    case "select":
      if (cuts(f.options ?? [])) {
        const { "aria-required": _, ...rest } = aria;
        return (
          <fieldset class="f group" id={id} tabIndex={-1} {...rest}><legend>{label}</legend>
            <label class="opt"><input type="radio" name={id} checked={typeof value !== "string" || value === ""} onChange={() => set("")} /><span>{m.noChoice}</span></label>
            {(f.options ?? []).map((o) => <label key={o.id} class="opt"><input type="radio" name={id} checked={value === o.id} onChange={() => set(o.id)} /><span><Inline text={o.label} /></span></label>)}
            {after}</fieldset>
        );
      }
      return (
        <div class="f"><label for={id} class="lbl">{label}</label>
          <select id={id} class="field" value={typeof value === "string" ? value : ""} {...aria} onChange={(e) => set(e.currentTarget.value)}>
            <option value="">{m.noChoice}</option>
            {(f.options ?? []).map((o) => <option key={o.id} value={o.id}>{oneLine(o.label)}</option>)}
          </select>{after}</div>
      );
    case "multiselect": {
      const chosen = Array.isArray(value) ? (value as readonly string[]) : [];
      const { "aria-required": _, ...rest } = aria;
      return (
        <fieldset class="f group" id={id} tabIndex={-1} {...rest}><legend>{label}</legend>
          {(f.options ?? []).map((o) => <label key={o.id} class="opt"><input type="checkbox" checked={chosen.includes(o.id)} onChange={(e) => set(e.currentTarget.checked ? [...chosen, o.id] : chosen.filter((c) => c !== o.id))} /><span><Inline text={o.label} /></span></label>)}
          {after}</fieldset>
      );
    }
  }
  const numeric = f.kind === "number" || f.kind === "integer";
  const mode = f.kind === "integer" ? "numeric" : f.kind === "number" ? "decimal" : f.format === "email" ? "email" : f.format === "uri" ? "url" : "text";
  return (
    <div class="f"><label for={id} class="lbl">{label}</label>
      <input id={id} class={"field" + (numeric ? " num" : "")} inputMode={mode} autocomplete="off" autocapitalize="off" value={typeof value === "string" ? value : ""} {...aria} onInput={(e) => set(e.currentTarget.value)} />{after}</div>
  );
}

function range(m: Messages, low: number | undefined, high: number | undefined, between: (a: string, b: string) => string): string {
  if (low !== undefined && high !== undefined) return between(num(low), num(high));
  if (low !== undefined) return m.atLeast(num(low));
  return high !== undefined ? m.atMost(num(high)) : "";
}

export function limitHint(m: Messages, f: FieldView): string {
  switch (f.kind) {
    case "string":
      return [range(m, f.minLength, f.maxLength, m.between), f.minLength !== undefined || f.maxLength !== undefined ? m.characters : "", f.format === "date-time" ? m.formatDateTime : ""].filter(Boolean).join(" ");
    case "number":
    case "integer":
      return [f.kind === "integer" ? m.wholeNumber : m.aNumber, range(m, f.minimum, f.maximum, m.between)].filter(Boolean).join(m.comma);
    case "multiselect":
      return range(m, f.minItems, f.maxItems, m.between) ? m.choose(range(m, f.minItems, f.maxItems, m.between)) : "";
  }
  return "";
}

function faultText(m: Messages, f: FieldView, fault: Fault): string {
  switch (fault) {
    case "required":
      return m.faultRequired;
    case "type":
      return f.kind === "integer" ? m.faultInteger : f.kind === "number" ? m.faultNumber : m.faultType;
    case "length":
      return m.faultLength(limitHint(m, f));
    case "range":
      return m.faultRange(limitHint(m, f));
    case "count":
      return m.faultCount(limitHint(m, f));
    case "choice":
      return m.faultChoice;
    case "format":
      return f.format === "email" ? m.faultEmail : f.format === "uri" ? m.faultUri : f.format === "date" ? m.faultDate : m.faultDateTime;
  }
}
