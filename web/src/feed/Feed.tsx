// The transcript. Only about three viewports of rows are in the document; heights of the others are remembered or guessed.
// Where the reader is stays where it is: at the end while new text comes, or at the row that is being read while rows before
// it come, go or change their height. A focused row stays in the document. The browser's own anchoring is off (page.css).
import { useSignalEffect } from "@preact/signals";
import { useCallback, useEffect, useId, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import type { Item, Problem } from "../contract";
import type { OpenThread } from "../link/types";
import { Icon } from "../parts/Icon";
import { memo } from "../parts/memo";
import { Button, ProblemNote, Reach, Time } from "../parts/parts";
import { num } from "../state/format";
import { ask, cards, connected, link, notices, outcomes, seek } from "../state/page";
import { useSay } from "../state/say";
import { texts } from "../text";
import { plan, joined, sum } from "./plan";
import { estimate, rows, type Row } from "./rows";
import { RowView } from "./RowView";
import { heightOf, setHeight, spotOf } from "./spots";

/** The box that scrolls: the transcript's own, or in a low window the whole page. */
function box(el: HTMLElement): HTMLElement {
  return getComputedStyle(el).overflowY === "visible" ? document.documentElement : el;
}

export function Feed({ thread }: { thread: OpenThread }) {
  const id = thread.head.thread.id;
  return <Window key={id} id={id} thread={thread} />;
}

function Window({ id, thread }: { id: string; thread: OpenThread }) {
  const m = texts.value;
  const outer = useRef<HTMLDivElement>(null), feed = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [spot] = useState(() => spotOf(id));
  const held = useRef<{ items: readonly Item[]; rows: Row[] }>({ items: [], rows: [] });
  const [now, setNow] = useState<string | undefined>(undefined); // the row that is a tab stop
  const focused = useRef<string | undefined>(undefined); // the row that has the focus in it
  const goal = useRef<{ id: string; focus: boolean } | undefined>(undefined); // the row to go to when it is drawn
  const [away, setAway] = useState(false);
  const prefix = useId();

  const items = joined(held.current.items, thread.items);
  const list = useMemo(() => rows({ head: thread.head, items, cards: cards.value, outcomes: outcomes.value, notices: notices.value }, held.current.rows),
    [thread, items, cards.value, outcomes.value, notices.value]);
  held.current = { items, rows: list };
  const place = useRef<ReadonlyMap<string, number>>(new Map());
  place.current = useMemo(() => new Map(list.map((r, i) => [r.id, i])), [list]);

  const sizes = list.map((r) => heightOf(r.id) ?? estimate(r));
  const total = thread.total + (list.length - items.length);
  const tabStop = now !== undefined && place.current.has(now) ? now : list[list.length - 1]?.id;

  // The gap before the first row is the feed's padding: a margin would move the feed's own edge, by which view tells where it is.
  const view = (): { top: number; height: number } => {
    const o = outer.current, f = feed.current;
    const b = o ? box(o) : undefined;
    const height = b?.clientHeight ?? globalThis.innerHeight;
    // By the row that is read, not by the scroll bar: rows before it may have come or gone since.
    const at = spot.anchor ? place.current.get(spot.anchor.id) : undefined;
    if (!spot.stuck && spot.anchor && at !== undefined) return { top: sum(sizes, 0, at) - spot.anchor.offset, height };
    if (spot.stuck || !o || !f || !b) return { top: sum(sizes, 0, sizes.length) - height, height };
    return { top: edgeOf(b, o) - f.getBoundingClientRect().top, height };
  };
  const drawn = useRef<{ runs: string }>({ runs: "" });
  const seen = useRef(false); // the first painting has what is on the screen and little more
  const make = () => {
    const v = view();
    const keep = [focused.current, tabStop, goal.current?.id].map((k) => (k === undefined ? -1 : place.current.get(k) ?? -1)).filter((k) => k >= 0);
    return plan({ heights: sizes, top: v.top, height: v.height, margin: seen.current ? v.height : v.height / 4, keep });
  };
  const p = make();
  drawn.current.runs = JSON.stringify(p.runs.map((r) => [r.start, r.end]));

  /** Puts the reader back to where it was. */
  const settle = useCallback(() => {
    const o = outer.current, f = feed.current;
    if (!o || !f) return;
    const b = box(o);
    if (goal.current) {
      const el = rowElement(f, goal.current.id);
      if (el) {
        const g = goal.current;
        goal.current = undefined;
        spot.stuck = false;
        el.scrollIntoView({ block: g.focus ? "nearest" : "center" });
        el.focus({ preventScroll: true });
        note();
        return;
      }
    }
    if (spot.stuck) {
      spot.below ??= b.scrollHeight - endOf(b, o);
      const want = b.scrollHeight - b.clientHeight - spot.below;
      if (Math.abs(b.scrollTop - want) > 1) b.scrollTop = want;
      return;
    }
    const el = spot.anchor && rowElement(f, spot.anchor.id);
    if (!el || !spot.anchor) return note();
    const moved = el.getBoundingClientRect().top - edgeOf(b, o) - spot.anchor.offset;
    if (Math.abs(moved) > 0.5) b.scrollTop += moved;
  }, []);

  /** Notes which row is being read. After a jump none is there yet: rows elsewhere say nothing about where the reader is. */
  const note = useCallback(() => {
    const o = outer.current, f = feed.current;
    if (!o || !f) return;
    const b = box(o), edge = edgeOf(b, o);
    spot.anchor = undefined;
    for (const el of f.children) {
      const r = el.getBoundingClientRect();
      if (r.bottom > edge + 1) {
        if (r.top < edge + b.clientHeight) spot.anchor = { id: (el as HTMLElement).dataset["row"] ?? "", offset: r.top - edge };
        break;
      }
    }
  }, []);

  // Measures rows; their height changes without a drawing of this component, too.
  const watch = useRef<ResizeObserver | undefined>(undefined);
  watch.current ??= typeof ResizeObserver === "undefined" ? undefined : new ResizeObserver((entries) => {
    let changed = false;
    for (const e of entries) {
      const row = (e.target as HTMLElement).dataset["row"];
      const h = e.borderBoxSize[0]?.blockSize ?? e.contentRect.height;
      if (row === undefined || !e.target.isConnected) continue;
      changed = setHeight(row, h) || changed;
    }
    if (changed) {
      settle();
      again();
    }
  });
  const latest = useRef(make);
  latest.current = make;
  /** Draws again when other rows belong into the document than are there. */
  const again = useCallback(() => {
    const next = latest.current();
    if (JSON.stringify(next.runs.map((r) => [r.start, r.end])) !== drawn.current.runs) redraw(0);
  }, []);

  const filling = useRef(false);
  const fill = useCallback(() => {
    const t = link().state.peek()?.open.get(id);
    if (!t || t.first === 0 || filling.current) return;
    filling.current = true;
    // When the link is lost, what is shown stays.
    void link().before(id, 100).catch(() => undefined).finally(() => { filling.current = false; });
  }, [id]);

  const scrolled = useCallback(() => {
    const o = outer.current;
    if (!o) return;
    const b = box(o);
    spot.stuck = endOf(b, o) - b.clientHeight - b.scrollTop < 24;
    spot.below = b === o ? 0 : b.scrollHeight - b.clientHeight - b.scrollTop;
    setAway(!spot.stuck);
    note();
    again();
    if (b.scrollTop < b.clientHeight * 2) fill();
  }, [fill]);

  useLayoutEffect(() => {
    const o = outer.current;
    if (!o) return;
    const onScroll = () => scrolled();
    o.addEventListener("scroll", onScroll, { passive: true });
    addEventListener("scroll", onScroll, { passive: true });
    const size = new ResizeObserver(() => {
      settle();
      again();
    });
    size.observe(o);
    return () => {
      o.removeEventListener("scroll", onScroll);
      removeEventListener("scroll", onScroll);
      size.disconnect();
      watch.current?.disconnect();
    };
  }, []);
  useLayoutEffect(settle); // after every drawing
  useEffect(() => { // after the painting
    seen.current = true;
    again();
  }, []);
  useLayoutEffect(() => {
    const o = outer.current;
    if (o && thread.first > 0 && list.length > 0 && box(o).scrollTop < box(o).clientHeight) fill();
  }, [thread.first]);

  // A search leads to a row: what is before it is read first.
  useSignalEffect(() => {
    const s = seek.value;
    if (!s || s.thread !== id) return;
    seek.value = undefined;
    void (async () => {
      for (let i = 0; i < 12; i++) {
        const t = link().state.peek()?.open.get(id);
        if (!t || t.items.some((x) => x.id === s.item) || t.first === 0) break;
        await link().before(id, 200).catch(() => undefined);
      }
      spot.stuck = false;
      goal.current = { id: s.item, focus: false };
      setNow(s.item);
      redraw(0);
    })();
  });

  const go = (to: number) => {
    const r = list[Math.max(0, Math.min(list.length - 1, to))];
    if (!r) return;
    goal.current = { id: r.id, focus: true };
    focused.current = r.id;
    setNow(r.id);
    redraw(0);
    if (to <= 0) fill();
  };
  const onKey = (e: KeyboardEvent) => {
    const at = e.target instanceof Element ? e.target.closest<HTMLElement>("[data-row]") : null;
    if (!at || e.altKey || (e.target instanceof Element && e.target.matches("textarea, select, input"))) return;
    const i = place.current.get(at.dataset["row"] ?? "") ?? 0;
    if (e.key === "PageDown" || e.key === "PageUp") {
      e.preventDefault();
      go(i + (e.key === "PageDown" ? 1 : -1));
    } else if (e.key === "Home" && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      (document.getElementById("older") ?? document.getElementById("h-thread"))?.focus();
    } else if (e.key === "End" && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      (document.getElementById("needs") ?? document.getElementById("composer"))?.focus();
    }
  };

  return (
    <div class="scroll" ref={outer} id="transcript">
      <div class="col">
        <Older thread={thread} shown={items.length} />
        <div {...(list.length > 0 ? { role: "feed" as const, "aria-label": m.transcript, "aria-busy": false } : {})} ref={feed} onKeyDown={onKey} style={{ paddingBlockStart: p.runs[0]?.gap ? `${p.runs[0].gap}px` : "", paddingBlockEnd: p.rest ? `${p.rest}px` : "" }}
          onFocusIn={(e) => {
            const r = e.target instanceof Element ? e.target.closest<HTMLElement>("[data-row]")?.dataset["row"] : undefined;
            focused.current = r;
            if (r !== undefined && r !== tabStop) setNow(r);
          }}
          onFocusOut={() => { focused.current = undefined; }}>
          {p.runs.flatMap((run, n) => list.slice(run.start, run.end).map((r, i) => (
            <Article key={r.id} row={r} gap={i === 0 && n > 0 ? run.gap : 0} stop={r.id === tabStop} pos={total - list.length + run.start + i + 1} size={thread.head.older ? -1 : total} watch={watch.current} prefix={prefix} />
          )))}
        </div>
        {list.length === 0 && !thread.head.older ? <p class="muted empty">{m.emptyThread}</p> : null}
        {away ? <div class="toend"><Button onClick={() => { spot.stuck = true; spot.below = undefined; setAway(false); redraw(0); requestAnimationFrame(settle); }}>{m.toEnd}</Button></div> : null}
      </div>
    </div>
  );
}

/** Where the transcript ends in what is scrolled. */
function endOf(b: HTMLElement, o: HTMLElement): number {
  return b === o ? b.scrollHeight : o.getBoundingClientRect().bottom + b.scrollTop;
}

function edgeOf(b: HTMLElement, o: HTMLElement): number {
  return b === o ? o.getBoundingClientRect().top : 0;
}

function rowElement(feed: HTMLElement, id: string): HTMLElement | undefined {
  for (const el of feed.children) if ((el as HTMLElement).dataset["row"] === id) return el as HTMLElement;
  return undefined;
}

const Article = memo(function Article({ row, gap, stop, pos, size, watch, prefix }: { row: Row; gap: number; stop: boolean; pos: number; size: number; watch: ResizeObserver | undefined; prefix: string }) {
  const ref = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const el = ref.current;
    if (!el || !watch) return;
    watch.observe(el);
    return () => watch.unobserve(el);
  }, []);
  const head = prefix + row.id;
  const busy = row.kind === "item" && row.item.status === "running" && (row.item.type === "agentMessage" || row.item.type === "reasoning" || row.item.type === "plan");
  const kind = row.kind === "item" ? (row.item.type === "userMessage" ? " user" : row.item.type === "agentMessage" ? " agent" : "") : row.kind === "outcome" ? " user uncertain" : "";
  return (
    <article ref={ref} class={"item" + kind} data-row={row.id} tabIndex={stop ? 0 : -1} aria-posinset={pos} aria-setsize={size} aria-labelledby={head} {...(busy ? { "aria-busy": true } : {})} style={{ marginBlockStart: gap ? `${gap}px` : "" }}>
      <Reach.Provider value={stop}>
        {row.kind === "item" && row.turn ? <p class="turn"><span>{texts.value.turn}</span> {row.turn.at ? <Time ms={row.turn.at * 1000} class="" /> : null}</p> : null}
        <RowView row={row} head={head} />
      </Reach.Provider>
    </article>
  );
});

/** What is before the rows: more of the worker's window comes by itself, older turns of the server only when asked for. */
function Older({ thread, shown }: { thread: OpenThread; shown: number }) {
  const m = texts.value;
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | "lost" | undefined>(undefined);
  useSay("polite", busy ? m.loadingOlder : "");
  const { head } = thread;
  if (thread.first > 0) return <div class="older"><p><Icon name="arc" spin />{m.readingEarlier}</p></div>;
  if (head.dropped) return <div class="older"><p>{m.windowFull(num(shown))}</p></div>;
  if (!head.older) return null;
  return (
    <div class="older">
      {busy ? <p><Icon name="arc" spin />{m.loadingOlder}</p> : (
        <Button kind="quiet" id="older" disabled={!connected.value} onClick={async () => {
          setBusy(true);
          const r = await ask("thread.older", { thread: head.thread.id });
          setBusy(false);
          setProblem(r.done ? undefined : r.problem ?? "lost");
        }}>{m.loadOlder}</Button>
      )}
      <span class="muted">{m.itemsShown(num(shown))}</span>
      {problem === "lost" ? <p class="err">{m.lost}</p> : problem ? <ProblemNote problem={problem} /> : null}
    </div>
  );
}
