// Entry of the Markdown worker.
import { fits } from "./limits";
import { code, markdown } from "./render";
import type { RenderRequest, RenderResult } from "./types";

self.onmessage = (e: MessageEvent<RenderRequest>) => {
  const r = e.data;
  let out: RenderResult = { id: r.id, plain: true };
  try {
    const html = r.kind === "markdown" ? markdown(r.text) : code(r.text, r.language);
    if (html !== undefined && fits(html)) out = { id: r.id, html };
  } catch {
    // What cannot be rendered is shown as it is.
  }
  self.postMessage(out);
};
