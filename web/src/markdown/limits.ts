/** Limits of what is rendered; above them text stays plain. Characters, tags of the result, and milliseconds of the worker. */
export const limits = { markdown: 128 << 10, code: 64 << 10, html: 512 << 10, tags: 4000, ms: 1500, queued: 256, cached: 4 << 20 } as const;

/** Whether a result may go into the document: putting nodes in costs the page's own time, by their number. */
export function fits(html: string): boolean {
  if (html.length > limits.html) return false;
  let tags = 0;
  for (let i = html.indexOf("<"); i >= 0; i = html.indexOf("<", i + 1)) if (++tags > 2 * limits.tags) return false;
  return true;
}
