// What a reader chose about the page itself. Nothing about any thread or account is ever stored.
import { effect, signal } from "@preact/signals";

export interface Settings {
  theme: "system" | "light" | "dark";
  language: "auto" | "en" | "ja";
  enter: "enter" | "ctrl";
  announce: "all" | "important";
  helpKey: "on" | "off";
}

const values: { [K in keyof Settings]: readonly Settings[K][] } = {
  theme: ["system", "light", "dark"],
  language: ["auto", "en", "ja"],
  enter: ["enter", "ctrl"],
  announce: ["all", "important"],
  helpKey: ["on", "off"],
};

const place = "relaycodex.settings";

/** parse takes what it knows from stored text; everything else is the default. */
export function parse(stored: string | null): Settings {
  let data: unknown;
  try {
    data = JSON.parse(stored ?? "{}");
  } catch {
    data = {};
  }
  const given = (typeof data === "object" && data !== null ? data : {}) as Record<string, unknown>;
  const pick = <K extends keyof Settings>(k: K): Settings[K] => values[k].find((v) => v === given[k]) ?? (values[k][0] as Settings[K]);
  return { theme: pick("theme"), language: pick("language"), enter: pick("enter"), announce: pick("announce"), helpKey: pick("helpKey") };
}

function stored(): string | null {
  try {
    return localStorage.getItem(place);
  } catch {
    return null; // a browser may forbid it; the settings then last as long as the page
  }
}

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
  effect(() => {
    const { theme } = settings.value;
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  });
}
