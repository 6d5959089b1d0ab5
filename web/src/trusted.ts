// The one Trusted Types policy of the page. Nothing but sanitize.ts makes markup with it, and the only script that it lets through
// is the Markdown worker's.

/** Name of the worker's file beside this one; build.mjs fills it in. */
declare const __MARKDOWN__: string;

const worker = new URL(__MARKDOWN__, import.meta.url).href;

// DOMPurify parses through this policy; nothing else can reach it, and the page's policy allows no other name.
export const policy = window.trustedTypes?.createPolicy("relaycodex", {
  createHTML: (html) => html,
  createScriptURL: (url) => {
    if (url !== worker) throw new TypeError("not a script of this page");
    return url;
  },
});

/** Starts the Markdown worker. */
export function markdownWorker(): Worker {
  return new Worker((policy ? policy.createScriptURL(worker) : worker) as string | URL);
}
