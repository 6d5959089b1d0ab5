// What a reader chose about the page itself. Nothing about any thread or account is ever stored.
import { effect, signal } from "@preact/signals";
import { parse, place, stored, wear, type Settings } from "./choose";

export { parse, type Settings };

export const settings = signal<Settings>(parse(null));

export function change<K extends keyof Settings>(k: K, v: Settings[K]): void {
  settings.value = { ...settings.value, [k]: v };
  try {
    localStorage.setItem(place, JSON.stringify(settings.value));
  } catch {
    // as above
  }
}

/** What a scroll bar takes, for boxes that keep its place free. */
function measureScrollbar(): void {
  const box = document.createElement("div");
  box.className = "measure";
  document.body.append(box);
  document.documentElement.style.setProperty("--scrollbar", `${box.offsetHeight - box.clientHeight}px`);
  box.remove();
}

/** Other tabs of this worker follow. */
export function startSettings(): void {
  settings.value = parse(stored());
  measureScrollbar();
  addEventListener("storage", (e) => {
    if (e.key === place) settings.value = parse(e.newValue);
  });
  effect(() => wear(settings.value.theme));
}
