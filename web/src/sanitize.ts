// The only way for markup into the document. Rendered Markdown is untrusted text of a model: DOMPurify takes out everything
// that is not listed, and what is left has no address that a browser would follow and no picture that it would fetch.
import DOMPurify, { type Config } from "dompurify";
import { policy } from "./trusted";

const allowed = {
  ALLOWED_TAGS: ["p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "s", "del", "ins", "code", "pre", "blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "a", "span", "sup", "sub"],
  ALLOWED_ATTR: ["class", "data-href", "data-img", "data-alt", "data-language", "start"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true as const,
  ...(policy ? { TRUSTED_TYPES_POLICY: policy as unknown as NonNullable<Config["TRUSTED_TYPES_POLICY"]> } : {}),
};

/** sanitize makes nodes of untrusted markup. */
export function sanitize(html: string): DocumentFragment {
  return DOMPurify.sanitize(html, allowed);
}
