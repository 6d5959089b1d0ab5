// The renderer of this page in this browser.
import { markdownWorker } from "../trusted";
import { createRenderer as create, type Engine } from "./renderer";
import type { Renderer } from "./types";

export function createRenderer(): Renderer {
  return create({
    start: () => markdownWorker() as unknown as Engine,
    timer: (f, ms) => {
      const t = setTimeout(f, ms);
      return () => clearTimeout(t);
    },
  });
}
