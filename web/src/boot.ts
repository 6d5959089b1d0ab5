// The first script of the page: it asks for what the page will show while the page's own code is on its way. It is small, and
// nothing waits for it.
import { begin, type Begun } from "./link/begin";
import { browserEnv } from "./link/browser";
import { chosenLanguage, stored } from "./state/choose";

declare global {
  interface Window { relayBegun?: Begun | undefined }
}

/** Files of this page beside this one; build.mjs fills it in. */
declare const __TEXTS__: { readonly ja: string };

window.relayBegun = begin(browserEnv());

if (chosenLanguage(stored(), navigator.languages) === "ja") {
  const own = document.currentScript;
  const ahead = document.createElement("link");
  ahead.rel = "modulepreload";
  ahead.href = new URL(__TEXTS__.ja, own instanceof HTMLScriptElement ? own.src : location.href).href;
  document.head.append(ahead);
}
