// Details: what is so, as opposed to what happened.
import { settledText } from "../dock/settled";
import { askTitle } from "../dock/title";
import { grouped } from "../feed/notices";
import { diff } from "../feed/rows";
import { Icon } from "../parts/Icon";
import { Button, IconButton, Time } from "../parts/parts";
import { num } from "../state/format";
import { cards, current, dialog, notices, opened, owner, panel, syncFailed } from "../state/page";
import { problemText, texts } from "../text";

export function Details({ closable }: { closable?: boolean }) {
  const m = texts.value;
  const t = opened.value;
  const s = t?.head.settings, u = t?.head.usage;
  const settled = cards.value.filter((c) => c.thread === current.value && c.state !== "pending" && c.state !== "answering" && c.state !== "refused").slice(-20).reverse();
  const { said, left } = grouped(notices.value.filter((n) => !n.thread || n.thread === current.value), 20);
  const files = t ? changed(t.items) : [];
  const lost = [syncFailed.value.get(""), syncFailed.value.get(current.value)].filter((x) => x !== undefined);
  return (
    <>
      <div class="side-h"><h2 id="h-details">{m.details}</h2><IconButton icon="cross" class={closable ? "" : "only-mid"} label={m.closeDetails} onClick={() => { panel.value = ""; }} /></div>
      {t?.head.stale ? <p class="side-p muted">{m.lastKnown}</p> : null}
      {closable && t ? <p class="side-p"><Button aria-haspopup="dialog" onClick={() => { panel.value = ""; dialog.value = "plain"; }}>{m.plainPage}</Button></p> : null}
      {t ? <>
        <h3>{m.thisThread}</h3>
        <dl class="kv">
          {s?.model || t.head.thread.model ? <><dt>{m.model}</dt><dd>{s?.model || t.head.thread.model}</dd></> : null}
          {s?.effort ? <><dt>{m.reasoning}</dt><dd>{s.effort}</dd></> : null}
          {s ? <><dt>{m.sandbox}</dt><dd>{s.sandbox}</dd><dt>{m.approvals}</dt><dd>{s.shownApproval}</dd></> : null}
          {s?.provider ? <><dt>{m.provider}</dt><dd>{s.provider}</dd></> : null}
          {u ? <><dt>{m.context}</dt><dd>{u.window ? m.ofTotal(num(u.last), num(u.window)) : num(u.last)}</dd><dt>{m.tokensTotal}</dt><dd>{num(u.total)}</dd></> : null}
        </dl>
        {!s && !u && !t.head.thread.model ? <p class="side-p muted">{m.settingsUnknown}</p> : null}
      </> : null}
      {owner.value ? <><h3>{m.bar}</h3><dl class="kv"><dt>{m.profile}</dt><dd>{owner.value.profile}</dd><dt>{m.account}</dt><dd>{owner.value.account === "none" ? m.accountNone : owner.value.account}</dd><dt>{m.root}</dt><dd class="mono">{owner.value.root}</dd></dl></> : null}
      {lost.length > 0 ? <><h3>{m.syncLost}</h3><ul class="flat">{lost.map((f, i) => <li key={i}><Icon name="warn" tone="attn" />{problemText(f.problem).text}</li>)}</ul></> : null}
      {files.length > 0 ? <><h3>{m.filesChanged}</h3><ul class="flat">{files.map((f) => <li key={f.path}><code>{f.path}</code>{f.exact ? <span class="meta"> {f.ins > 0 ? <span class="ins-n">+{num(f.ins)} </span> : null}{f.del > 0 ? <span class="del-n">−{num(f.del)}</span> : null}</span> : null}</li>)}</ul></> : null}
      {settled.length > 0 ? <><h3>{m.settledRequests}</h3><ul class="flat">{settled.map((c) => { const x = settledText(m, c); return <li key={c.id}><Icon name={x.icon} tone={x.tone} />{askTitle(m, c)} <span class="meta wrap">{x.text}</span> <Time ms={c.atMs} /></li>; })}</ul></> : null}
      {said.length > 0 ? <><h3>{m.notices}</h3><ul class="flat">{said.reverse().map(({ notice: n, times }) => <li key={n.id}><Icon name={n.kind === "error" ? "warn" : n.kind === "refused" ? "lock" : n.kind === "warning" || n.kind === "deprecation" ? "warn" : "ring"} tone={n.kind === "error" ? "bad" : undefined} />{n.shown ? <q>{n.shown}</q> : null}{n.problem ? problemText(n.problem).text : null} {times > 1 ? <span class="meta">{m.saidTimes(num(times))} </span> : null}<Time ms={n.atMs} /></li>)}{left > 0 ? <li class="muted">{m.noticesLeft(left, num(left))}</li> : null}</ul></> : null}
    </>
  );
}

/** The files that this window's completed changes touched. */
function changed(items: NonNullable<typeof opened.value>["items"]): { path: string; ins: number; del: number; exact: boolean }[] {
  const by = new Map<string, { path: string; ins: number; del: number; exact: boolean }>();
  for (const i of items) {
    if (i.type !== "fileChange" || i.status !== "done") continue;
    for (const f of i.files ?? []) {
      const path = f.shownMove ?? f.shownPath;
      const e = by.get(path) ?? { path, ins: 0, del: 0, exact: true };
      if (f.diff.left) e.exact = false;
      else for (const l of diff(f.kind, f.diff.text)) {
        if (l.kind === "ins") e.ins++;
        else if (l.kind === "del") e.del++;
      }
      by.set(path, e);
    }
  }
  return [...by.values()];
}
