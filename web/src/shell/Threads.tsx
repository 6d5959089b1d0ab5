// The thread list: the server's, newest first, one page after the other on request.
import { useEffect, useState } from "preact/hooks";
import type { ThreadSummary } from "../contract";
import { memo } from "../parts/memo";
import { Button, IconButton, Tag, ThreadTitle } from "../parts/parts";
import { ago } from "../state/format";
import { cards, connected, current, link, moreThreads, panel, show, threads } from "../state/page";
import { attempt, ofList } from "../state/trouble";
import { texts } from "../text";
import { Troubled } from "./Troubled";

/** How many rows are drawn at first and with each "Show more"; and in the first painting, where more would not be seen. */
const step = 100, few = 30;

export function Threads({ closable }: { closable?: boolean }) {
  const m = texts.value;
  const list = threads.value;
  const [busy, setBusy] = useState(false);
  const [limit, setLimit] = useState(few);
  useEffect(() => setLimit(step), []); // after the painting
  return (
    <>
      <div class="side-h"><h2 id="h-threads">{m.threads}</h2>
        <IconButton icon="plus" label={m.newThread} onClick={() => { void show(""); requestAnimationFrame(() => document.getElementById("composer")?.focus()); }} />
        {closable ? <IconButton icon="cross" label={m.closeThreads} onClick={() => { panel.value = ""; }} /> : null}
      </div>
      {list.length === 0 ? <p class="muted side-p">{connected.value ? m.noThreads : m.noThreadsOffline}</p> : null}
      <ul class="tlist">
        {list.slice(0, limit).map((t) => <ThreadRow key={t.id} t={t} now={t.id === current.value} needs={cards.value.some((c) => c.thread === t.id && c.state === "pending")} joined={link().state.value?.open.get(t.id)?.head.mode === "joined"} />)}
      </ul>
      {moreThreads.value || list.length > Math.max(step, limit) ? <Button kind="quiet" class="more" busy={busy} disabled={!connected.value && list.length <= limit} onClick={async () => {
        if (busy) return;
        setLimit(limit + step);
        if (list.length >= limit + step || !moreThreads.peek()) return;
        setBusy(true);
        await attempt(ofList, "thread.list", { more: true });
        setBusy(false);
      }}>{busy ? m.reading : m.showMore}</Button> : null}
      <Troubled place={ofList} />
    </>
  );
}

const ThreadRow = memo(function ThreadRow({ t, now, needs, joined }: { t: ThreadSummary; now: boolean; needs: boolean; joined: boolean }) {
  const m = texts.value;
  return (
    <li><a href={"#thread"} {...(now ? { "aria-current": "true" as const } : {})} onClick={(e) => { e.preventDefault(); void show(t.id); }}>
      <span class="t-name"><ThreadTitle given={t.shownTitle} own={m.untitled} /></span>
      <span class="t-meta">{tag(t, needs, joined)}{t.foreign ? <span>{m.foreign}</span> : null}{t.ephemeral ? <span>{m.ephemeral}</span> : null}<time dateTime={new Date(t.updatedAt * 1000).toISOString()}>{ago(t.updatedAt * 1000)}</time></span>
    </a></li>
  );
});

function tag(t: ThreadSummary, needs: boolean, joined: boolean) {
  const m = texts.value;
  if (needs) return <Tag icon="half" tone="attn">{m.needsYou}</Tag>;
  if (t.status.waitsApproval || t.status.waitsInput) return <Tag icon="half" tone="attn">{t.status.waitsApproval ? m.waitsApproval : m.waitsInput}</Tag>;
  if (t.status.type === "active") return joined ? <Tag icon="arc" spin>{m.running}</Tag> : <Tag icon="eye">{m.possiblyInUse}</Tag>;
  if (t.status.type === "systemError") return <Tag icon="warn" tone="bad">{m.failed}</Tag>;
  return null;
}

