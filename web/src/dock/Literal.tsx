// Text of the server as it is judged: whole, line by line, nothing invisible. The worker has escaped it (ask.Text); here only
// the escapes are marked and each line end gets a sign that no text can forge, because it is not text.
import { createContext, type ComponentChildren } from "preact";
import { useContext, useEffect, useId, useRef } from "preact/hooks";
import type { Host, Text } from "../contract";
import { memo } from "../parts/memo";
import { useOverflow } from "../parts/parts";
import { texts } from "../text";

/** Whoever shows long text tells when its end was seen. */
export interface Reading {
  register(id: string): void;
  seen(id: string): void;
}
export const ReadingContext = createContext<Reading | undefined>(undefined);

const escapes = /(\\(?:x[0-9a-f]{2}|u\{[0-9a-f]+\}|[nrt]))/;

// Letters that are written from right to left, with the marks on them. Each run of them stands for itself, so that two of
// them never change places on the screen: what comes first is on the left.
const rightToLeft = /([\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]+)/u;

function Ordered({ text }: { text: string }) {
  if (!rightToLeft.test(text)) return <>{text}</>;
  return <>{text.split(rightToLeft).map((p, i) => (i % 2 === 1 ? <bdi key={i}>{p}</bdi> : p))}</>;
}

function Marked({ line }: { line: string }) {
  if (!line.includes("\\")) return <Ordered text={line} />;
  // A doubled backslash is a backslash: it is stepped over, so that what follows it is no escape.
  return <>{line.split(/(\\\\)/).flatMap<ComponentChildren>((part, i) => (i % 2 === 1 ? [part] : part.split(escapes).map((p, j) => (j % 2 === 1 ? <span key={`${i}.${j}`} class="esc">{p}</span> : <Ordered key={`${i}.${j}`} text={p} />))))}</>;
}

/** change: the lines are those of a change and get its ground; what they say stays as it is. */
const Lines = memo(function Lines({ text, change }: { text: Text; change: string | undefined }) {
  const ground = (l: string) => (change === "add" ? " add" : change === "delete" ? " gone" : change === undefined ? "" : l.startsWith("+") ? " add" : l.startsWith("-") ? " gone" : l.startsWith("@@") ? " hunk" : "");
  return <>{text.lines.map((l, i) => <span key={i} class={"ln" + (i < text.lines.length - 1 ? " nl" : "") + ground(l)}><Marked line={l} /></span>)}</>;
});

/** The end of a long text: it counts as seen when it was on the screen, inside every box that scrolls. */
function End({ id }: { id: string }) {
  const ref = useRef<HTMLSpanElement>(null);
  const reading = useContext(ReadingContext);
  useEffect(() => {
    const el = ref.current;
    if (!el || !reading) return;
    reading.register(id);
    const watch = new IntersectionObserver((entries) => {
      if (entries.some((e) => e.isIntersecting)) reading.seen(id);
    }, { threshold: 1 });
    watch.observe(el);
    return () => watch.disconnect();
  }, [reading, id]);
  return <span ref={ref} class="text-end">{texts.value.endOfText}</span>;
}

const long = 8 << 10;

export function Literal({ text, label, change }: { text: Text; label: string; change?: string }) {
  const [ref, over] = useOverflow<HTMLPreElement>();
  const id = useId();
  return (
    <>
      <pre ref={ref} class="out literal" role="group" aria-label={label} {...(over ? { tabIndex: 0 } : {})}><code><Lines text={text} change={change} /></code>{text.bytes > long ? <End id={id} /> : null}</pre>
    </>
  );
}

/** Short text of the server in a line of our own, always set apart. */
export function Inline({ text }: { text: Text }) {
  return <code class="lit">{text.lines.map((l, i) => <span key={i} class={i < text.lines.length - 1 ? "nl" : ""}><Marked line={l} />{i < text.lines.length - 1 ? " " : ""}</span>)}</code>;
}

export function Quote({ text }: { text: Text }) {
  return <q><Inline text={text} /></q>;
}

export function HostName({ host }: { host: Host }) {
  const m = texts.value;
  return <><code class="lit">{host.shown}</code>{host.unicode ? <span class="muted"> {m.looksLike} <code class="lit">{host.unicode}</code></span> : null}</>;
}

/** The end of the whole card, for a card whose texts are short but many. */
export function ReadingEnd({ children }: { children?: ComponentChildren }) {
  const id = useId();
  return <p class="cardend"><End id={id} />{children}</p>;
}
