// The page's side of the Markdown worker: one request at a time, and a worker that takes too long is ended. What is asked
// for has been bounded before, and what comes back is judged again, as the worker works on untrusted text.
import { fits, limits } from "./limits";
import type { Renderer, RenderRequest, RenderResult } from "./types";

export interface Engine {
  postMessage(r: RenderRequest): void;
  onmessage: ((e: MessageEvent<RenderResult>) => void) | null;
  onerror: ((e: Event) => void) | null;
  terminate(): void;
}

type Ask = { kind: "markdown"; text: string } | { kind: "code"; text: string; language: string };
interface Job { ask: Ask; name: string; done: (html: string | undefined) => void }

export interface RendererEnv {
  start(): Engine;
  timer(f: () => void, ms: number): () => void;
}

export function createRenderer(env: RendererEnv): Renderer {
  let engine: Engine | undefined;
  let current: (Job & { id: number; stop: () => void }) | undefined;
  let id = 0, held = 0;
  const queue: Job[] = [];
  const cache = new Map<string, Promise<string | undefined>>(), sizes = new Map<string, number>();

  const finish = (html: string | undefined) => {
    const job = current;
    if (!job) return;
    job.stop();
    current = undefined;
    const ok = html !== undefined && fits(html);
    if (ok) held += grow(job.name, html.length);
    job.done(ok ? html : undefined);
    next();
  };

  /** Ends the worker: what it was doing stays plain, and the next request gets a new one. */
  const kill = () => {
    engine?.terminate();
    engine = undefined;
    finish(undefined);
  };

  const next = () => {
    const job = queue.shift();
    if (!job || current) {
      if (job) queue.unshift(job);
      return;
    }
    if (!engine) {
      const fresh = (engine = env.start());
      fresh.onmessage = (e) => { if (engine === fresh && e.data?.id === current?.id) finish(typeof e.data.html === "string" ? e.data.html : undefined); };
      fresh.onerror = () => { if (engine === fresh) kill(); };
    }
    current = { ...job, id: ++id, stop: env.timer(kill, limits.ms) };
    engine.postMessage({ id, ...job.ask });
  };

  const grow = (name: string, size: number) => {
    if (!cache.has(name)) return 0;
    sizes.set(name, (sizes.get(name) ?? 0) + size);
    return size;
  };

  /** Forgets what was asked for least lately. */
  const shrink = () => {
    for (const name of cache.keys()) {
      if (held <= limits.cached) return;
      held -= sizes.get(name) ?? 0;
      sizes.delete(name);
      cache.delete(name);
    }
  };

  const request = (ask: Ask, name: string): Promise<string | undefined> => {
    const known = cache.get(name);
    if (known) {
      cache.delete(name);
      cache.set(name, known);
      return known;
    }
    const result = new Promise<string | undefined>((done) => queue.push({ ask, name, done }));
    cache.set(name, result);
    sizes.set(name, name.length);
    held += name.length;
    // Who scrolls on does not need what was asked for long ago; it is asked for again when it is shown again.
    while (queue.length > limits.queued) {
      const old = queue.shift()!;
      held -= sizes.get(old.name) ?? 0;
      sizes.delete(old.name);
      cache.delete(old.name);
      old.done(undefined);
    }
    next();
    shrink();
    return result;
  };

  return {
    markdown: (text) => (text.length > limits.markdown ? Promise.resolve(undefined) : request({ kind: "markdown", text }, "m" + text)),
    code: (text, language) => (text.length > limits.code ? Promise.resolve(undefined) : request({ kind: "code", text, language }, "c" + language.slice(0, 40) + "\n" + text)),
  };
}
