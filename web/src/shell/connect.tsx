// The dialogs about the connection: what it is, which profile it is of, and the question before something is lost.
import { useEffect, useId, useLayoutEffect, useState } from "preact/hooks";
import type { ProbeResult, Problem } from "../contract";
import { Icon } from "../parts/Icon";
import { Button, Dialog, ProblemNote } from "../parts/parts";
import { list, num } from "../state/format";
import { ask, codexVersion, connection, dialog, link, opened, owner, phase, profiles } from "../state/page";
import { ofConnection } from "../state/trouble";
import { problemText, texts } from "../text";
import { end, ending, endNow, type End } from "./end";
import { Reconnect } from "./Reconnect";
import { stakeOf } from "./stake";
import { statusOf } from "./status";
import { Troubled } from "./Troubled";

const close = () => { dialog.value = ""; };

export function ConnectionDialog() {
  const m = texts.value;
  const c = connection.value;
  const s = statusOf(m, phase.value, c, opened.value, profiles.value);
  const [probes, setProbes] = useState<ProbeResult | "busy" | undefined>(undefined);
  const [problem, setProblem] = useState<Problem | "lost" | undefined>(undefined);
  const stop = c?.state === "connected";
  const out = useId();
  // A button that did what it says is gone; the focus does not go with it.
  useLayoutEffect(() => { if (!document.activeElement?.closest("dialog")) document.getElementById(out)?.focus(); }, [stop]);
  const probe = async () => {
    setProbes("busy");
    setProblem(undefined);
    const r = await ask("probe", {});
    setProbes(r.done ? r.value : undefined);
    if (!r.done) setProblem(r.problem ?? "lost");
  };
  return (
    <Dialog title={m.connectionDetails} onClose={close}>
      <p class="status"><Icon name={s.icon} tone={s.tone} spin={s.spin ?? false} /> <b>{s.word}</b> <span class="muted">{s.fact}</span></p>
      {c?.problem ? <ProblemNote problem={c.problem} /> : null}
      {c ? (
        <dl class="facts">
          <dt>{m.profile}</dt><dd>{c.profile} <span class="muted">{c.transport === "local" ? m.local : m.remote}</span></dd>
          {c.transport === "local" ? <><dt>{m.localProcess}</dt><dd>{c.process ? (c.process.running ? m.processRuns(String(c.process.pid)) : m.processEnded(c.process.exit ?? "")) : m.processNone}</dd></> : <><dt>{m.localProcess}</dt><dd>{m.processRemote}</dd><dt>{m.remoteConnection}</dt><dd><code>{c.host}</code></dd></>}
          <dt>{m.generation}</dt><dd>{num(c.generation)}</dd>
          {c.server ? <><dt>{m.contract}</dt><dd>{m.serverVersion(c.server.version)}{m.comma}{c.server.pinned ? m.versionPinned : m.versionUnknown(codexVersion.value)}</dd><dt>{m.platform}</dt><dd>{c.server.platformFamily}{m.comma}{c.server.platformOs}</dd></> : null}
          {owner.value ? <><dt>{m.account}</dt><dd>{owner.value.account === "none" ? m.accountNone : owner.value.account}</dd><dt>{m.root}</dt><dd><code>{owner.value.root}</code></dd></> : null}
        </dl>
      ) : null}
      {c?.process?.shownStderr ? <><p class="lbl">{m.lastWords}</p><pre class="out wrap" tabIndex={0} role="group" aria-label={m.lastWords}><code>{c.process.shownStderr}</code></pre></> : null}
      {c?.transport === "remote" ? (
        <div class="row"><Button busy={probes === "busy"} onClick={() => { if (probes !== "busy") void probe(); }}>{m.askHealth}</Button>
          <span class="muted">{typeof probes === "object" ? probes.probes.map((p) => `${p.path} ${p.status || (p.problem ? problemText(p.problem).text : "–")}`).join(m.comma) : ""} {m.healthWhat}</span></div>
      ) : null}
      {problem === "lost" ? <p class="err">{m.lost}</p> : problem ? <ProblemNote problem={problem} /> : null}
      <Troubled place={ofConnection} silent />
      <div class="row end">
        <Button id={out} autofocus onClick={close}>{m.close}</Button>
        {stop ? <Button onClick={() => end({ kind: "disconnect" })}>{c.transport === "local" ? m.stopServer : m.disconnect}</Button> : null}
        {c ? <Reconnect kind="primary" /> : null}
      </div>
    </Dialog>
  );
}

/** Which profile; changing it ends the present connection, so it is asked for and named. */
export function Profiles() {
  const m = texts.value;
  return (
    <Dialog title={m.profiles} onClose={close}>
      <p class="muted">{m.profilesWhat}</p>
      <ul class="plist">
        {profiles.value.map((p) => (
          <li key={p.name}>
            <span class="p-name"><b>{p.name}</b> <span class="muted">{p.transport === "local" ? m.local : m.remote}{p.transport === "remote" ? <> <code>{p.host}</code></> : null}</span>
              {p.selected ? <span class="tag good"><Icon name="check" />{m.selected}</span> : null}{p.transport === "remote" ? <span class="tag attn">{m.preview}</span> : null}</span>
            {p.selected && connection.value?.state === "connected" ? null : (
              <Button onClick={() => end({ kind: "connect", profile: p.name, ...(p.enabled ? {} : { enable: true }) })}>{p.enabled ? (p.transport === "local" ? m.startAndUse : m.connectTo) : m.enableAndConnect}</Button>
            )}
            {p.enabled ? null : <p class="hint">{m.enableWhat}</p>}
          </li>
        ))}
      </ul>
      <Troubled place={ofConnection} silent />
      <p class="muted">{m.profilesFile} <code>profiles.yaml</code></p>
      <div class="row end"><Button autofocus onClick={close}>{m.close}</Button></div>
    </Dialog>
  );
}

/** What is lost is said before it is. */
export function Ending({ end: e }: { end: End }) {
  const m = texts.value;
  const s = link().state.value, c = connection.value;
  const cancel = () => { ending.value = undefined; };
  const up = c?.state === "connected";
  useEffect(() => { if (!up) cancel(); }, [up]); // it has ended by itself
  const remote = c?.transport === "remote";
  const { turns, requests } = s ? stakeOf(s) : { turns: 0, requests: 0 };
  const at = [...(turns > 0 ? [m.turnsRun(turns)] : []), ...(requests > 0 ? [m.requestsOpen(requests)] : [])];
  const [title, word] = e.kind === "connect" ? [m.changeNow, m.changeProfile] : e.kind === "disconnect" ? (remote ? [m.disconnectNow, m.disconnect] : [m.stopNow, m.stopServer]) : remote ? [m.reconnectNow, m.reconnect] : [m.restartNow, m.restartServer];
  return (
    <Dialog title={title} onClose={cancel}>
      {at.length > 0 ? <p><b>{list(at)}{m.stop}</b></p> : null}
      <p>{remote ? m.endsRemote : m.endsLocal}</p>
      <p class="muted">{e.kind === "connect" ? m.draftsAside : m.draftsStay}</p>
      <div class="row end"><Button autofocus onClick={cancel}>{m.leaveIt}</Button><Button kind="danger" onClick={() => void endNow(e)}>{word}</Button></div>
    </Dialog>
  );
}
