// Rendering of finished blocks, away from the page's thread. The worker returns HTML that is NOT trusted: only
// sanitize.ts puts it into the document, through DOMPurify and the one Trusted Types policy.

/** Request to the Markdown worker. Ids are unique and growing. */
export type RenderRequest =
  | { id: number; kind: "markdown"; text: string }
  | { id: number; kind: "code"; text: string; language: string };

/** html uses classes only (hljs-…), no style attributes; links are <a data-href>, images are <span data-img alt>. */
export interface RenderResult {
  id: number;
  html?: string;
  /** The text was too large or rendering failed: show it as plain text. */
  plain?: boolean;
}

export interface Renderer {
  /** undefined: show plain text. Results of equal requests are cached, bounded. */
  markdown(text: string): Promise<string | undefined>;
  code(text: string, language: string): Promise<string | undefined>;
}
