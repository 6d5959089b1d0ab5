// The bar that is always there: profile, state, and the few things that concern everything.
import { useRef, useState } from "preact/hooks";
import type { Problem, Profile } from "../contract";
import { Icon } from "../parts/Icon";
import { Button, IconButton, ProblemNote, Dialog } from "../parts/parts";
import { num } from "../state/format";
import { ask, connection, dialog, live, opened, panel, phase, profiles, waiting } from "../state/page";
import { texts } from "../text";
import { statusOf } from "./status";

export function Bar() {
  const m = texts.value;
  const c = connection.value;
  const s = statusOf(m, phase.value, c, opened.value);
  const working = c?.state === "connecting" || c?.state === "reconnecting";
  const n = waiting.value.length;
  return (
    <header class="bar" aria-label={m.bar}>
      <IconButton icon="menu" class="only-narrow" label={m.threads} aria-haspopup="dialog" onClick={() => { panel.value = "threads"; }} />
      <span class="brand">relaycodex</span>
      <ProfileMenu />
      <button type="button" class="conn" aria-haspopup="dialog" onClick={() => { dialog.value = "connection"; }}>
        <Icon name={s.icon} tone={s.tone} spin={s.spin ?? false} /><span class="conn-t">{s.word}</span>{s.fact ? <span class="conn-x">{s.fact}</span> : null}
        {c?.preview && live.value ? <span class="tag attn">{m.preview}</span> : null}
      </button>
      <span class="bar-actions">
        {n > 0 ? <a class="pending" href="#needs" onClick={(e) => { e.preventDefault(); document.getElementById("h-needs")?.focus(); }}><Icon name="half" tone="attn" /><span class="vh">{m.needsYou} </span><span class="count">{num(n)}</span></a> : null}
        {live.value && c && !working && c.problem?.code !== "codex.not_found" ? <Reconnect class="wide-only" /> : null}
        <IconButton icon="find" label={m.search} aria-keyshortcuts="Control+K" aria-haspopup="dialog" onClick={() => { dialog.value = "search"; }} />
        <IconButton icon="dials" label={m.settings} aria-haspopup="dialog" onClick={() => { dialog.value = "settings"; }} />
        <IconButton icon="help" label={m.help} aria-haspopup="dialog" onClick={() => { dialog.value = "help"; }} />
      </span>
    </header>
  );
}

/** Local profiles restart their server, remote ones only the connection (R-CONN-05). */
export function Reconnect({ class: extra, kind = "quiet", label }: { class?: string; kind?: "quiet" | "primary" | undefined; label?: string }) {
  const m = texts.value;
  const c = connection.value;
  const up = c?.state === "connected";
  const [sure, setSure] = useState(false);
  const run = () => { setSure(false); void ask("reconnect", {}); };
  const word = label ?? (c?.transport === "remote" ? m.reconnect : up ? m.restartServer : m.startServer);
  const running = opened.value?.head.turnStatus === "running" || waiting.value.length > 0;
  return (
    <>
      <Button kind={kind === "quiet" ? "quiet" : undefined} {...(extra ? { class: extra } : {})} onClick={() => { if (up && running) setSure(true); else run(); }}>{word}</Button>
      {sure ? (
        <Dialog title={c?.transport === "remote" ? m.reconnectNow : m.restartNow} onClose={() => setSure(false)}>
          <p>{c?.transport === "remote" ? m.reconnectWhat : m.restartWhat}</p>
          <div class="row end"><Button autofocus onClick={() => setSure(false)}>{m.leaveIt}</Button><Button kind="danger" onClick={run}>{word}</Button></div>
        </Dialog>
      ) : null}
    </>
  );
}

/** Which profile; changing it ends the present connection, so it is asked for and named. */
function ProfileMenu() {
  const m = texts.value;
  const list = profiles.value;
  const [open, setOpen] = useState(false);
  const selected = list.find((p) => p.selected) ?? list[0];
  if (!selected) return null;
  return (
    <>
      <button type="button" class="profile" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <span class="vh">{m.profile} </span><b>{selected.name}</b> <span class="kind">{selected.transport === "local" ? m.local : m.remote}</span><span class="down"><Icon name="chev" /></span>
      </button>
      {open ? <Profiles list={list} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function Profiles({ list, onClose }: { list: readonly Profile[]; onClose: () => void }) {
  const m = texts.value;
  const [problem, setProblem] = useState<Problem | "lost" | undefined>(undefined);
  const busy = useRef(false);
  const connect = async (p: Profile) => {
    if (busy.current) return;
    busy.current = true;
    setProblem(undefined);
    const r = await ask("connect", { profile: p.name, ...(p.enabled ? {} : { enable: true }) });
    busy.current = false;
    if (r.done) onClose();
    else setProblem(r.problem ?? "lost");
  };
  return (
    <Dialog title={m.profiles} onClose={onClose}>
      <p class="muted">{m.profilesWhat}</p>
      <ul class="plist">
        {list.map((p) => (
          <li key={p.name}>
            <span class="p-name"><b>{p.name}</b> <span class="muted">{p.transport === "local" ? m.local : m.remote}{p.transport === "remote" ? <> <code>{p.host}</code></> : null}</span>
              {p.selected ? <span class="tag good"><Icon name="check" />{m.selected}</span> : null}{p.transport === "remote" ? <span class="tag attn">{m.preview}</span> : null}</span>
            {p.selected && connection.value?.state === "connected" ? null : (
              <Button onClick={() => void connect(p)}>{p.enabled ? (p.transport === "local" ? m.startAndUse : m.connectTo) : m.enableAndConnect}</Button>
            )}
            {p.enabled ? null : <p class="hint">{m.enableWhat}</p>}
          </li>
        ))}
      </ul>
      {problem === "lost" ? <p class="err">{m.lost}</p> : problem ? <ProblemNote problem={problem} /> : null}
      <p class="muted">{m.profilesFile} <code>profiles.yaml</code></p>
      <div class="row end"><Button autofocus onClick={onClose}>{m.close}</Button></div>
    </Dialog>
  );
}
