// The bar that is always there: profile, state, and the few things that concern everything.
import { Icon } from "../parts/Icon";
import { IconButton } from "../parts/parts";
import { num } from "../state/format";
import { connection, dialog, live, opened, panel, phase, profiles, waiting } from "../state/page";
import { texts } from "../text";
import { Reconnect } from "./Reconnect";
import { statusOf } from "./status";

export function Bar() {
  const m = texts.value;
  const c = connection.value;
  const s = statusOf(m, phase.value, c, opened.value, profiles.value);
  const working = c?.state === "connecting" || c?.state === "reconnecting";
  const n = waiting.value.length;
  return (
    <header class="bar" aria-label={m.bar}>
      <IconButton icon="menu" class="only-narrow" label={m.threads} aria-haspopup="dialog" onClick={() => { panel.value = "threads"; }} />
      <span class="brand">relaycodex</span>
      <ProfileButton />
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

function ProfileButton() {
  const m = texts.value;
  const list = profiles.value;
  const selected = list.find((p) => p.selected) ?? list[0];
  if (!selected) return null;
  return (
    <button type="button" class="profile" aria-haspopup="dialog" onClick={() => { dialog.value = "profiles"; }}>
      <span class="vh">{m.profile} </span><b>{selected.name}</b> <span class="kind">{selected.transport === "local" ? m.local : m.remote}</span><span class="down"><Icon name="chev" /></span>
    </button>
  );
}
