// A thread as one plain text. Pure.
import type { Item } from "../contract";
import type { Messages } from "../text";
import { code, prose } from "../visible";

export function plainText(m: Messages, items: readonly Item[]): string {
  return items.map((i) => block(m, i)).filter((b) => b !== "").join("\n\n");
}

function block(m: Messages, i: Item): string {
  const cut = (e: { left?: number; tail?: boolean } | undefined, s: string) => (e?.left ? (e.tail ? m.plainCut + "\n" + s : s + "\n" + m.plainCut) : s);
  const body = cut(i.text, i.text?.text ?? "");
  switch (i.type) {
    case "userMessage":
      return `${m.you}\n${prose(body)}`;
    case "agentMessage":
      return `Codex\n${prose(body)}`;
    case "plan":
      return `${m.plan}\n${prose(body)}`;
    case "reasoning": {
      const all = [...(i.reasoning ?? []), ...(i.content ?? [])].map((e) => cut(e, e.text)).join("\n");
      return all === "" ? "" : `${m.reasoning}\n${prose(all)}`;
    }
    case "commandExecution":
      return [`$ ${i.command?.shown ?? ""}`, code(body), i.command?.exitCode === undefined ? "" : m.exit(i.command.exitCode)].filter(Boolean).join("\n");
    case "fileChange":
      return (i.files ?? []).map((f) => `${m.files}: ${f.shownPath}\n${code(cut(f.diff, f.diff.text))}`).join("\n");
    case "mcpToolCall":
      return [`MCP ${i.mcp?.shownServer ?? ""} ${i.mcp?.shownTool ?? ""}`, code(i.mcp?.arguments.text ?? ""), code(i.mcp?.result?.text ?? ""), i.mcp?.shownError ?? ""].filter(Boolean).join("\n");
  }
  return [i.type, i.shownNote ?? "", prose(body)].filter(Boolean).join("\n");
}
