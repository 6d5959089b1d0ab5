// The page's texts in the reader's language.
import { computed, effect } from "@preact/signals";
import type { Problem } from "../contract";
import { settings } from "../state/settings";
import { en } from "./en";
import { ja } from "./ja";
import { en as problemsEn, ja as problemsJa } from "./problems";

/** Every catalogue has the keys of the English one: a text, or what makes one of its arguments. */
export type Messages = { readonly [K in keyof typeof en]: (typeof en)[K] extends (...args: infer A) => string ? (...args: A) => string : string };

export const language = computed<"en" | "ja">(() => {
  const chosen = settings.value.language;
  if (chosen !== "auto") return chosen;
  for (const l of navigator.languages) {
    if (/^ja\b/i.test(l)) return "ja";
    if (/^en\b/i.test(l)) return "en";
  }
  return "en";
});

const catalogues: Record<"en" | "ja", Messages> = { en, ja };

export const texts = computed<Messages>(() => catalogues[language.value]);

export function startTexts(): void {
  effect(() => {
    document.documentElement.lang = language.value;
  });
}

/** What happened, in the page's language; the worker's own words when this page does not know the code. Server words in the arguments are escaped already. */
export function problemText(p: Problem): { text: string; remedy: string } {
  const list = language.value === "ja" ? problemsJa : problemsEn;
  const find = (what: string) => (p.variant ? list[`${what}.${p.code}.${p.variant}`] : undefined) ?? list[`${what}.${p.code}`];
  const text = find("error");
  if (text === undefined) return { text: p.text, remedy: p.remedy ?? "" };
  const fill = (s: string) => s.replace(/\{([a-z_]+)\}/g, (_, name: string) => p.args?.[name] ?? "");
  return { text: fill(text), remedy: fill(find("remedy") ?? "") };
}
