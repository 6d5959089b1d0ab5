// The page's texts in the reader's language.
import { computed, effect, signal } from "@preact/signals";
import type { Problem } from "../contract";
import { preferredLanguage } from "../state/choose";
import { settings } from "../state/settings";
import { en } from "./en";

/** Every catalogue has the keys of the English one: a text, or what makes one of its arguments. */
export type Messages = { readonly [K in keyof typeof en]: (typeof en)[K] extends (...args: infer A) => string ? (...args: A) => string : string };

/** What the reader wants; what is shown is behind it while its texts are being read. */
const wanted = computed<"en" | "ja">(() => {
  const chosen = settings.value.language;
  return chosen !== "auto" ? chosen : preferredLanguage(navigator.languages);
});

const loaded = signal<{ readonly en: Messages; readonly ja?: Messages }>({ en });

export const language = computed<"en" | "ja">(() => (wanted.value === "ja" && !loaded.value.ja ? "en" : wanted.value));

export const texts = computed<Messages>(() => loaded.value[language.value] ?? loaded.value.en);

/** Reads what the wanted language needs. It settles when that can be shown, or when it cannot be had: then the page is in English. */
async function load(): Promise<void> {
  if (wanted.peek() !== "ja" || loaded.peek().ja) return;
  try {
    const { ja } = await import("./ja");
    loaded.value = { ...loaded.peek(), ja };
  } catch {
    // The worker is gone; a reload, or another choice, tries again.
  }
}

/** Settles when the page can be drawn in the reader's language. */
export function startTexts(): Promise<void> {
  effect(() => {
    document.documentElement.lang = language.value;
  });
  const first = load();
  effect(() => {
    if (wanted.value === "ja") void load();
  });
  return first;
}

type Problems = typeof import("./problems");
const problems = signal<Problems | undefined>(undefined);

/** Reads the texts of problems, which are many and seldom needed; until then the worker's own words stand for them. */
export async function loadProblems(): Promise<void> {
  try {
    problems.value ??= await import("./problems");
  } catch {
    // as above
  }
}

/** What happened, in the page's language; the worker's own words when this page does not know the code. Server words in the arguments are escaped already. */
export function problemText(p: Problem): { text: string; remedy: string } {
  if (!problems.value) void loadProblems();
  const list: Readonly<Record<string, string>> = problems.value?.[language.value] ?? {};
  const find = (what: string) => (p.variant ? list[`${what}.${p.code}.${p.variant}`] : undefined) ?? list[`${what}.${p.code}`];
  const text = find("error");
  if (text === undefined) return { text: p.text, remedy: p.remedy ?? "" };
  const fill = (s: string) => s.replace(/\{([a-z_]+)\}/g, (_, name: string) => p.args?.[name] ?? "");
  return { text: fill(text), remedy: fill(find("remedy") ?? "") };
}
