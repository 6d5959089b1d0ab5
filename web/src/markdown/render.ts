// Markdown and code to HTML, in the worker. Raw HTML is text, a link has its address in data-href only, an image is a name
// with its address beside it: nothing here makes a browser fetch or follow anything. The result is still untrusted
// (sanitize.ts).
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import makefile from "highlight.js/lib/languages/makefile";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import MarkdownIt from "markdown-it";
import { limits } from "./limits";

const languages = { bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, makefile, php, python, ruby, rust, sql, typescript, xml, yaml };
for (const [name, define] of Object.entries(languages)) hljs.registerLanguage(name, define);

const md = new MarkdownIt({ html: false, linkify: false, typographer: false, breaks: false, highlight: (text, language) => code(text, language) });
const escape = md.utils.escapeHtml;

/** The addresses that a person may follow. Everything else stays text. */
function followed(url: string): boolean {
  try {
    return ["http:", "https:", "mailto:"].includes(new URL(url).protocol);
  } catch {
    return false;
  }
}

// markdown-it asks this for links and images: those that nobody may follow stay as they were written.
md.validateLink = followed;
md.renderer.rules.link_open = (tokens, i) => `<a data-href="${escape(String(tokens[i]!.attrGet("href") ?? ""))}">`;
md.renderer.rules.image = (tokens, i, options, env, self) => {
  const t = tokens[i]!;
  const alt = escape(self.renderInlineAsText(t.children ?? [], options, env));
  return `<span data-img="${escape(String(t.attrGet("src") ?? ""))}" data-alt="${alt}">${alt}</span>`;
};
// The name of a fence goes into data-language, where it is data, and not into a class.
md.renderer.rules.fence = (tokens, i) => {
  const t = tokens[i]!, language = t.info.trim().split(/\s+/, 1)[0] ?? "";
  return `<pre><code data-language="${escape(language.slice(0, 40))}">${code(t.content, language)}</code></pre>\n`;
};
// Alignment is a style attribute in markdown-it.
for (const cell of ["th_open", "td_open"] as const) md.renderer.rules[cell] = (tokens, i) => `<${tokens[i]!.tag}>`;

/** Renders finished Markdown. undefined: too large. */
export function markdown(text: string): string | undefined {
  return text.length > limits.markdown ? undefined : md.render(text);
}

/** Code with classes for its parts, or escaped when the language is not known. */
export function code(text: string, language: string): string {
  const name = language.toLowerCase();
  if (text.length > limits.code || !hljs.getLanguage(name)) return escape(text);
  return hljs.highlight(text, { language: name, ignoreIllegals: true }).value;
}
