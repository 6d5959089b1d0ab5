// The first script, in the page's own text: it asks for what the page will show, and then for the page's own code, so that reading
// and compiling that code takes no time from the question.
import { begin, type Begun } from "./link/begin";
import { browserEnv } from "./link/browser";
import { chosenLanguage, parse, stored } from "./state/choose";

declare global {
  interface Window { relayBegun?: Begun | undefined }
}

/** Paths that build.mjs wrote beside this script: the page's module with the parts it imports, and the Japanese texts. */
const { first = "", ja = "" } = document.currentScript?.dataset ?? {};

/** There is no page yet that could say it. */
const notLoaded = {
  en: "The page could not be loaded: relaycodex does not answer any more. Nothing was sent to Codex. Run “relaycodex url” for a fresh address, or start relaycodex again. (page.not_loaded)",
  ja: "ページを読み込めませんでした。relaycodex が応答しません。Codex には何も送信していません。「relaycodex url」で新しいアドレスを取得するか、relaycodex を再起動してください。（page.not_loaded）",
};

try {
  window.relayBegun = begin(browserEnv());
} finally {
  const html = document.documentElement, { theme } = parse(stored()), [page = "", ...parts] = first.split(" ");
  html.lang = chosenLanguage(stored(), navigator.languages);
  if (theme !== "system") html.dataset["theme"] = theme; // before anything is drawn
  if (html.lang === "ja") parts.push(ja);
  for (const part of parts) {
    const ahead = document.createElement("link");
    ahead.rel = "modulepreload";
    ahead.href = part;
    document.head.append(ahead);
  }
  import(page).catch((e: unknown) => {
    const root = document.getElementById("root"), said = document.createElement("p");
    said.setAttribute("role", "alert");
    said.textContent = notLoaded[html.lang === "ja" ? "ja" : "en"];
    said.style.margin = "2rem";
    if (root?.childElementCount === 0) root.append(said);
    throw e;
  });
}
