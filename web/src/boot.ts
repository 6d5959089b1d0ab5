// The first script, in the page's own text: it asks for what the page will show, and then for the page's own code, so that reading
// and compiling that code takes no time from the question.
import { begin, type Begun } from "./link/begin";
import { browserEnv } from "./link/browser";
import { chosenLanguage, stored } from "./state/choose";

declare global {
  interface Window { relayBegun?: Begun | undefined }
}

window.relayBegun = begin(browserEnv());

/** Paths that build.mjs wrote beside this script: the page's module with the parts it imports, and the Japanese texts. */
const { first = "", ja = "" } = document.currentScript?.dataset ?? {};
const [page = "", ...parts] = first.split(" ");
if (chosenLanguage(stored(), navigator.languages) === "ja") parts.push(ja);
for (const part of parts) {
  const ahead = document.createElement("link");
  ahead.rel = "modulepreload";
  ahead.href = part;
  document.head.append(ahead);
}
void import(page);
