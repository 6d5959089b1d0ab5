// Permissions: nothing is ticked at first, the scope is the turn (R-INT-03).
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import type { PermissionsView } from "../contract";
import { Button } from "../parts/parts";
import { num } from "../state/format";
import { texts } from "../text";
import type { Acting } from "./Ask";
import { GrantName } from "./bodies";
import { Inline, Quote } from "./Literal";

export function Permissions({ view, where, acting }: { view: PermissionsView; where: ComponentChildren; acting: Acting }) {
  const m = texts.value;
  const name = useId();
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [scope, setScope] = useState<"turn" | "session">("turn");
  const [none, setNone] = useState(false);
  const free = view.grants.filter((g) => !g.fixed), fixed = view.grants.filter((g) => g.fixed);
  const n = ticked.size;
  return (
    <>
      {view.reason ? <p>{m.reasonGiven} <Quote text={view.reason} /></p> : null}
      <fieldset class="group"><legend>{m.grantLegend(num(n), num(free.length))}</legend>
        {free.map((g) => (
          <label key={g.id} class="opt"><input type="checkbox" checked={ticked.has(g.id)} onChange={(e) => {
            const next = new Set(ticked);
            if (e.currentTarget.checked) next.add(g.id);
            else next.delete(g.id);
            setTicked(next);
            setNone(false);
          }} /><span><GrantName m={m} grant={g} /></span></label>
        ))}
      </fieldset>
      {fixed.length > 0 ? <div><p class="lbl">{m.staysDenied}</p><ul class="plain">{fixed.map((g) => <li key={g.id}><GrantName m={m} grant={g} /></li>)}</ul></div> : null}
      <fieldset class="group inline"><legend>{m.forHowLong}</legend>
        <label class="opt"><input type="radio" name={name} checked={scope === "turn"} onChange={() => setScope("turn")} /><span>{m.scopeTurn}</span></label>
        <label class="opt"><input type="radio" name={name} checked={scope === "session"} onChange={() => setScope("session")} /><span>{m.scopeSession}</span></label>
      </fieldset>
      <dl class="facts">
        {view.cwd ? <><dt>{m.directory}</dt><dd><Inline text={view.cwd} /></dd></> : null}
        {view.environment ? <><dt>{m.environment}</dt><dd><Inline text={view.environment} /></dd></> : null}
      </dl>
      {where}
      <div class="row">
        <Button aria-disabled={!acting.usable || n === 0 || acting.unread} data-choice="grant" onClick={(e) => {
          if (n === 0) setNone(true);
          else acting.act(scope === "turn" ? m.grantTurn(num(n)) : m.grantSession(num(n)), { grants: [...ticked], scope }, true, e);
        }}>{n === 0 ? m.grantChosen : scope === "turn" ? m.grantTurn(num(n)) : m.grantSession(num(n))}</Button>
        <Button aria-disabled={!acting.usable} data-choice="nothing" onClick={(e) => acting.act(m.grantNothing, { grants: [] }, false, e)}>{m.grantNothing}</Button>
        <span class="muted">{none ? m.tickFirst : acting.unread ? m.readFirst : m.leftOut}</span>
      </div>
    </>
  );
}
