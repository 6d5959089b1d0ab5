// What a reader chose about the page, as it is kept, and which language that means.

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

export const place = "relaycodex.settings";

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

/** What is kept in this browser. */
export function stored(): string | null {
  try {
    return localStorage.getItem(place);
  } catch {
    return null; // a browser may forbid it; the settings then last as long as the page
  }
}

/** Shows the page in the theme that was chosen. */
export function wear(theme: Settings["theme"], html: HTMLElement = document.documentElement): void {
  if (theme === "system") delete html.dataset["theme"];
  else html.dataset["theme"] = theme;
}

/** The language of a reader who chose so, or whose browser prefers so; English when neither is known here. */
export function chosenLanguage(kept: string | null, preferred: readonly string[]): "en" | "ja" {
  const chosen = parse(kept).language;
  return chosen !== "auto" ? chosen : preferredLanguage(preferred);
}

export function preferredLanguage(preferred: readonly string[]): "en" | "ja" {
  for (const l of preferred) {
    if (/^ja\b/i.test(l)) return "ja";
    if (/^en\b/i.test(l)) return "en";
  }
  return "en";
}
