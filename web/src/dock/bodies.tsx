// What is judged on approval cards.
import type { ComponentChildren } from "preact";
import type { CommandView, FileView, Grant, ToolView } from "../contract";
import { texts, type Messages } from "../text";
import { HostName, Inline, Literal, Quote } from "./Literal";

export function CommandBody({ view, where }: { view: CommandView; where: ComponentChildren }) {
  const m = texts.value;
  return (
    <>
      <Literal text={view.line} label={view.stdin ? m.input : m.command} />
      {view.argv && view.argv.length > 1 ? (
        <div class="argv"><p class="lbl">{m.argv}</p><ol aria-label={m.argv}>{view.argv.map((a, i) => <li key={i}><Inline text={a} /></li>)}</ol></div>
      ) : null}
      <dl class="facts">
        <dt>{m.directory}</dt><dd><Inline text={view.cwd} /></dd>
        {view.environment ? <><dt>{m.environment}</dt><dd><Inline text={view.environment} /></dd></> : null}
        {view.network ? <><dt>{m.network}</dt><dd><HostName host={view.network.host} /> <span class="muted">({view.network.protocol === "other" ? m.unknownProtocol : view.network.protocol})</span></dd></> : null}
        {view.extra ? <><dt>{m.alsoGrants}</dt><dd><ul class="plain">{view.extra.grants.map((g) => <li key={g.id}><GrantName m={m} grant={g} /></li>)}</ul></dd></> : null}
        {view.reason ? <><dt>{m.agentsReason}</dt><dd><Quote text={view.reason} /></dd></> : null}
      </dl>
      {where}
    </>
  );
}

export function FileBody({ view, where }: { view: FileView; where: ComponentChildren }) {
  const m = texts.value;
  return (
    <>
      {!view.known ? <p class="note attn">{m.changesUnknownWhy}</p> : null}
      {(view.changes ?? []).map((c, i) => (
        <section key={i} class="change">
          <p class="change-h"><b>{c.kind === "add" ? m.changeAdd : c.kind === "delete" ? m.changeDelete : c.kind === "update" ? m.changeUpdate : m.changeOther}</b> <Inline text={c.path} />{c.moved ? <> <b>{m.changeMoved}</b> <Inline text={c.moved} /></> : null}</p>
          <Literal text={c.diff} label={m.changeText} change={c.kind} />
        </section>
      ))}
      {view.grantRoot || view.reason ? <dl class="facts">
        {view.grantRoot ? <><dt>{m.alsoGrants}</dt><dd>{m.writeBelow} <Inline text={view.grantRoot} /></dd></> : null}
        {view.reason ? <><dt>{m.agentsReason}</dt><dd><Quote text={view.reason} /></dd></> : null}
      </dl> : null}
      {where}
    </>
  );
}

export function ToolBody({ view, where }: { view: ToolView; where: ComponentChildren }) {
  const m = texts.value;
  return (
    <>
      <dl class="facts">
        <dt>{m.mcpServer}</dt><dd><Inline text={view.server} /></dd>
        <dt>{m.serverAsks}</dt><dd><Quote text={view.message} /></dd>
        {view.description ? <><dt>{m.toolSays}</dt><dd><Quote text={view.description} /></dd></> : null}
        <dt>{m.kindOfApproval}</dt><dd><Inline text={view.approval} /></dd>
        <dt>{m.runsWhere}</dt><dd>{m.runsInMcp}</dd>
      </dl>
      {view.params ? <><p class="lbl">{m.arguments}</p><Literal text={view.params} label={m.arguments} /></> : <p class="muted">{m.noArguments}</p>}
      {where}
    </>
  );
}

export function GrantName({ m, grant }: { m: Messages; grant: Grant }) {
  if (grant.kind === "network") return <><b>{m.network}</b> {m.anyHost}</>;
  const access = grant.access === "read" ? m.read : grant.access === "write" ? m.write : grant.access === "deny" ? m.denied : m.unknownAccess;
  const kind = grant.kind === "pattern" ? m.patternGrant : grant.kind === "special" ? m.specialGrant : "";
  return <><b>{access}</b> {kind} {grant.value ? <Inline text={grant.value} /> : null}{grant.subpath ? <> {m.below} <Inline text={grant.subpath} /></> : null}</>;
}
