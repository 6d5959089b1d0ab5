// The link of this page in this browser.
import type { Env } from "./link";
import type { Channel } from "./tabs";

function listen(target: EventTarget, name: string, f: () => void): () => void {
  target.addEventListener(name, f);
  return () => target.removeEventListener(name, f);
}

/** A tab whose browser keeps nothing for it has its session until it is reloaded. */
function storage(): Env["storage"] {
  try {
    sessionStorage.getItem("");
    return sessionStorage;
  } catch {
    const held = new Map<string, string>();
    return { getItem: (k) => held.get(k) ?? null, setItem: (k, v) => void held.set(k, v), removeItem: (k) => void held.delete(k) };
  }
}

/** What createLink needs of this browser. */
export function browserEnv(): Env {
  let held: Env["storage"] | undefined;
  return {
    fetch: (input, init) => fetch(input, init),
    location, history, crypto, locks: navigator.locks,
    get storage() { return (held ??= storage()); },
    channel: (name) => new BroadcastChannel(name) as unknown as Channel,
    visible: () => document.visibilityState === "visible",
    timer: (f, ms) => {
      const t = setTimeout(f, ms);
      return () => clearTimeout(t);
    },
    now: () => Date.now(),
    random: () => Math.random(),
    on: (what, f) => {
      switch (what) {
        case "visible":
          return listen(document, "visibilitychange", () => { if (document.visibilityState === "visible") f(); });
        case "hide":
          return listen(window, "pagehide", f);
        case "show": {
          const shown = (e: Event) => { if ((e as PageTransitionEvent).persisted) f(); };
          window.addEventListener("pageshow", shown);
          return () => window.removeEventListener("pageshow", shown);
        }
        default:
          return listen(window, what, f);
      }
    },
  };
}
