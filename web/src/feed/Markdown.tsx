// A finished block of Markdown. The worker renders it; until then, and when it does not, the text stands as it is.
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { memo } from "../parts/memo";
import { copy, Reach } from "../parts/parts";
import { leaving, renderer } from "../state/page";
import { language, texts } from "../text";
import { prose } from "../visible";

type Sanitizer = typeof import("../sanitize");

const sanitizer = (): Promise<Sanitizer> => import("../rest");

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const ref = useRef<HTMLDivElement>(null);
  const [html, setHtml] = useState<{ of: string; html: string; sanitize: Sanitizer["sanitize"] } | undefined>(undefined);
  const reach = useContext(Reach);
  useEffect(() => { // after the painting: what is read first is text
    let gone = false;
    // What reorders or hides text is shown as an escape before anything else happens to the text.
    void Promise.all([renderer().markdown(prose(text)), sanitizer()]).then(([h, s]) => {
      if (!gone && h !== undefined) setHtml({ of: text, html: h, sanitize: s.sanitize });
    }, () => undefined); // the worker is gone: the text stays as it is
    return () => { gone = true; };
  }, [text]);
  useLayoutEffect(() => {
    const el = ref.current;
    if (!el || !html || html.of !== text) return;
    const nodes = html.sanitize(html.html);
    dress(nodes);
    el.replaceChildren(nodes);
  }, [html, text, language.value]);
  useLayoutEffect(() => {
    const el = ref.current;
    if (!el) return;
    stops(el, reach);
    const watch = new ResizeObserver(() => stops(el, reach));
    watch.observe(el);
    return () => watch.disconnect();
  }, [reach, html, text, language.value]);
  if (!html || html.of !== text) return <div class="md plain">{prose(text)}</div>;
  return <div class="md" ref={ref} onClick={follow} onKeyDown={(e) => { if (e.key === "Enter") follow(e); }} />;
});

/** Gives links a role, pictures a word, code boxes a name and a way to be copied. Nothing in here is an address that works by itself. */
function dress(root: DocumentFragment): void {
  const m = texts.peek();
  for (const a of root.querySelectorAll<HTMLElement>("a")) {
    if (a.dataset["href"] === undefined) {
      a.replaceWith(...a.childNodes);
      continue;
    }
    a.setAttribute("role", "link");
    a.classList.add("inert");
  }
  for (const s of root.querySelectorAll<HTMLElement>("[data-img]")) {
    const alt = s.dataset["alt"] ?? s.textContent ?? "";
    s.className = "chip";
    s.textContent = m.imageBlocked + (alt ? ": " + prose(alt) : "");
  }
  for (const pre of root.querySelectorAll<HTMLElement>("pre")) {
    pre.classList.add("out");
    pre.setAttribute("role", "group");
    pre.setAttribute("aria-label", m.code);
    const box = document.createElement("div");
    box.className = "codebox";
    const b = document.createElement("button");
    b.type = "button";
    b.className = "btn quiet";
    b.textContent = m.copyCode;
    b.dataset["copy"] = "";
    pre.replaceWith(box);
    box.append(pre, b);
  }
  for (const t of root.querySelectorAll<HTMLElement>("table")) {
    const box = document.createElement("div");
    box.className = "tablebox";
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", m.table);
    t.replaceWith(box);
    box.append(t);
  }
}

/** Tab stops: links and buttons, and boxes of code as long as they scroll; none outside the current item. */
function stops(root: HTMLElement, reach: boolean): void {
  const tab = reach ? 0 : -1;
  root.querySelectorAll<HTMLElement>("[role=link], button").forEach((e) => { e.tabIndex = tab; });
  root.querySelectorAll<HTMLElement>("pre, .tablebox").forEach((e) => {
    if (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1) e.tabIndex = tab;
    else e.removeAttribute("tabindex");
  });
}

function follow(e: Event): void {
  const at = e.target instanceof Element ? e.target : undefined;
  const button = at?.closest("button[data-copy]");
  if (button && e.type === "click") {
    void copy(button.parentElement?.querySelector("pre")?.textContent ?? "");
    return;
  }
  const a = at?.closest<HTMLElement>("a[data-href]");
  if (!a) return;
  e.preventDefault();
  leaving.value = a.dataset["href"];
}
