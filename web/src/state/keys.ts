// Keys of the whole page. None of them answers a request.
import { interrupt } from "../composer/send";
import { dialog, leaving, opened, panel } from "./page";
import { settings } from "./settings";

const shown = (el: Element | null): el is HTMLElement => el instanceof HTMLElement && el.getClientRects().length > 0;

/** The areas in their order, each with the element that takes the focus. */
export function areas(): { area: Element; to: HTMLElement }[] {
  const find = (area: string, ...to: string[]) => {
    const a = document.querySelector(area);
    if (!a || !shown(a)) return [];
    for (const t of to) {
      const el = a.querySelector(t) ?? (a.matches(t) ? a : null);
      if (shown(el)) return [{ area: a, to: el }];
    }
    return [];
  };
  return [
    ...find(".bar", "button.profile", "button"),
    ...find(".threads", "a[aria-current]", "button"),
    ...find(".thread-h", "button", "h1"),
    ...find(".banner", "button", "input"),
    ...find(".scroll", "article[tabindex='0']", "#older"),
    ...find(".page", ".page"),
    ...find(".dock", "#h-needs"),
    ...find(".composer", "#composer"),
    ...find(".details", "button", "h2"),
  ];
}

export function startKeys(): void {
  addEventListener("keydown", (e) => {
    if (e.isComposing || e.keyCode === 229) return;
    const modal = document.querySelector("dialog[open]") !== null;
    const held = (e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey;
    if (e.key === "F6" && !modal && !e.ctrlKey && !e.altKey && !e.metaKey) {
      const list = areas();
      const at = list.findIndex((a) => a.area.contains(document.activeElement));
      const next = at < 0 ? (e.shiftKey ? list.length - 1 : 0) : at + (e.shiftKey ? -1 : 1);
      const go = list[next];
      if (!go) return; // beyond the last one the key is the browser's
      e.preventDefault();
      if (go.to.tabIndex < 0 && !go.to.hasAttribute("tabindex")) go.to.tabIndex = -1;
      go.to.focus();
      return;
    }
    if (held && e.key.toLowerCase() === "k" && leaving.peek() === undefined) {
      e.preventDefault();
      if (dialog.peek() === "" && !modal) dialog.value = "search";
      return;
    }
    if (held && e.key === "." && !modal) {
      e.preventDefault();
      // A turn that is only watched is another client's: it is interrupted by its button alone.
      if (!e.repeat && opened.peek()?.head.mode === "joined") void interrupt();
      return;
    }
    if (e.key === "?" && !e.ctrlKey && !e.metaKey && !e.altKey && !modal && settings.peek().helpKey === "on") {
      const t = e.target;
      if (t instanceof HTMLElement && (t.isContentEditable || t.matches("input, textarea, select"))) return;
      e.preventDefault();
      panel.value = "";
      dialog.value = "help";
    }
  });
}
