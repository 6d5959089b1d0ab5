// Small parts that everything is built of.
import type { ButtonHTMLAttributes, ComponentChildren, RefObject } from "preact";
import { createContext } from "preact";
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../contract";
import { full, time } from "../state/format";
import { say } from "../state/say";
import { problemText, texts } from "../text";
import { Icon, type IconName } from "./Icon";

/** Whether controls in here are tab stops. In the feed, only those of the current item are. */
export const Reach = createContext(true);

export function useReach(): { tabIndex: 0 | -1 } {
  return { tabIndex: useContext(Reach) ? 0 : -1 };
}

type ButtonProps = {
  kind?: "primary" | "quiet" | "danger" | undefined;
  icon?: IconName;
  busy?: boolean | undefined;
  children: ComponentChildren;
  class?: string;
} & Omit<ButtonHTMLAttributes<HTMLButtonElement>, "icon" | "class" | "type" | "children"> & { type?: "submit" | "button" };

export function Button({ kind, icon, busy, children, class: extra, type = "button", ...rest }: ButtonProps) {
  return (
    <button {...useReach()} {...rest} type={type} class={["btn", kind, extra].filter(Boolean).join(" ")} {...(busy ? { "aria-disabled": true } : {})}>
      {icon ? <Icon name={icon} /> : null}{icon ? <span>{children}</span> : children}
    </button>
  );
}

export function IconButton({ icon, label, class: extra, ...rest }: { icon: IconName; label: string; class?: string } & Omit<ButtonHTMLAttributes<HTMLButtonElement>, "icon" | "class" | "label" | "type">) {
  return <button {...useReach()} {...rest} type="button" class={"icon-btn" + (extra ? " " + extra : "")} aria-label={label} title={label}><Icon name={icon} /></button>;
}

/** A word with its glyph; tone never stands alone. */
export function Tag({ icon, tone, spin, children }: { icon: IconName; tone?: "good" | "attn" | "bad" | undefined; spin?: boolean; children: ComponentChildren }) {
  return <span class={"tag" + (tone ? " " + tone : "")}><Icon name={icon} {...(spin ? { spin } : {})} /><span>{children}</span></span>;
}

export function Time({ ms, class: extra = "meta" }: { ms: number; class?: string }) {
  // What a pointer is told takes a formatter of its own; it is made when there is a pointer.
  return <time class={extra} dateTime={new Date(ms).toISOString()} onPointerEnter={(e) => { e.currentTarget.title = full(ms); }}>{time(ms)}</time>;
}

/** A thread's title is its writer's word and stands in quotes, so that none can pass for a word of this page. */
export function ThreadTitle({ given, own }: { given: string; own: string }) {
  return given ? <q class="title">{given}</q> : <>{own}</>;
}

/** A text of ours in which `backticks` mark code. Never for text from outside. */
export function Rich({ children }: { children: string }) {
  return <>{children.split("`").map((part, i) => (i % 2 === 0 ? part : <code key={i}>{part}</code>))}</>;
}

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say("polite", texts.peek().sayCopied);
  } catch {
    say("alert", texts.peek().sayNotCopied);
  }
}

/** Copies what text gives, and says so on the button for a moment. */
export function CopyButton({ text, label, plain }: { text: () => string | Promise<string>; label: string; plain?: boolean }) {
  const [done, setDone] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <Button kind={plain ? undefined : "quiet"} icon={done ? "check" : "copy"} onClick={async () => {
      await copy(await text());
      setDone(true);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => setDone(false), 2000);
    }}>{label}</Button>
  );
}

/** What happened and what can be done, with its stable code. */
export function ProblemNote({ problem, tone = "bad", title }: { problem: Problem; tone?: "bad" | "attn" | "plain"; title?: ComponentChildren }) {
  const p = problemText(problem);
  return (
    <div class={"note" + (tone === "plain" ? "" : " " + tone)}>
      <p class="note-t"><Icon name="warn" />{title ? <b>{title}</b> : <b>{p.text}</b>}</p>
      {title ? <p>{p.text}</p> : null}
      <p class="muted"><Rich>{p.remedy}</Rich> <code class="code-s">{problem.code}{problem.variant ? "/" + problem.variant : ""}</code></p>
    </div>
  );
}

/** Makes a scrolling box reachable by keyboard only while it overflows. */
export function useOverflow<T extends HTMLElement>(): [RefObject<T | null>, boolean] {
  const ref = useRef<T>(null);
  const [over, setOver] = useState(false);
  useLayoutEffect(() => {
    const el = ref.current;
    if (!el) return;
    const look = () => setOver(el.scrollWidth > el.clientWidth + 1 || el.scrollHeight > el.clientHeight + 1);
    look();
    const watch = new ResizeObserver(look);
    watch.observe(el);
    if (el.firstElementChild) watch.observe(el.firstElementChild);
    return () => watch.disconnect();
  }, []);
  return [ref, over];
}

/** A box of code that scrolls. */
export function Scroller({ label, class: extra, children }: { label: string; class: string; children: ComponentChildren }) {
  const [ref, over] = useOverflow<HTMLPreElement>();
  const reach = useContext(Reach);
  return <pre ref={ref} class={extra} role="group" aria-label={label} {...(over ? { tabIndex: reach ? 0 : -1 } : {})}><code>{children}</code></pre>;
}

/** A native modal dialog. Esc and its close button close it; focus goes back to where it was. */
export function Dialog({ title, hideTitle, class: extra, onClose, children, wide }: { title: string; hideTitle?: boolean; class?: string; onClose: () => void; children: ComponentChildren; wide?: boolean }) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const el = ref.current;
    const before = document.activeElement instanceof HTMLElement ? document.activeElement : undefined;
    el?.showModal();
    return () => {
      el?.close();
      if (before?.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={ref} class={[extra, wide ? "wide" : ""].filter(Boolean).join(" ")} aria-labelledby={id}
      onCancel={(e) => { e.preventDefault(); onClose(); }}
      onMouseDown={(e) => { if (e.target === ref.current) onClose(); }}>
      <div class="dlg">
        <div class={hideTitle ? "vh" : "sheet-h"}><h2 id={id}>{title}</h2></div>
        {children}
      </div>
    </dialog>
  );
}

export function Details({ id, open, onToggle, summary, class: extra, children }: { id?: string; open: boolean; onToggle: (open: boolean) => void; summary: ComponentChildren; class: string; children: ComponentChildren }) {
  return (
    <details class={extra} open={open} {...(id ? { id } : {})} onToggle={(e) => { const now = e.currentTarget.open; if (now !== open) onToggle(now); }}>
      <summary {...useReach()}>{summary}</summary>
      {open ? children : null}
    </details>
  );
}
