// The first script, in the page's own text: it asks for what the page will show, and then for the page's own code, so that reading
// and compiling that code takes no time from the question.
import { begin, type Begun } from "./link/begin";
import { browserEnv } from "./link/browser";
import { chosenLanguage, parse, stored, wear } from "./state/choose";
import { unloaded } from "./text/unloaded";

declare global {
  interface Window { relayBegun?: Begun | undefined }
}

/** Paths that build.mjs wrote beside this script: the page's module with the parts it imports, and the Japanese texts. */
const { first = "", ja = "" } = document.currentScript?.dataset ?? {};

try {
  window.relayBegun = begin(browserEnv());
} finally { // without an early question the page asks by itself
  const kept = stored(), language = chosenLanguage(kept, navigator.languages), [page = "", ...parts] = first.split(" ");
  document.documentElement.lang = language;
  wear(parse(kept).theme); // before anything is drawn
  if (language === "ja") parts.push(ja);
  for (const part of parts) {
    const ahead = document.createElement("link");
    ahead.rel = "modulepreload";
    ahead.href = part;
    document.head.append(ahead);
  }
  import(page).catch((e: unknown) => {
    const root = document.getElementById("root"), said = document.createElement("p");
    said.setAttribute("role", "alert");
    said.textContent = unloaded[language];
    said.style.margin = "2rem";
    if (root?.childElementCount === 0) root.append(said);
    throw e;
  });
}
