// A thread as one plain text: every row of its transcript. Pure.
import { settledText } from "../dock/settled";
import { askTitle } from "../dock/title";
import type { Row } from "../feed/rows";
import type { Card, Item } from "../contract";
import { problemText, type Messages } from "../text";
import { code, prose } from "../visible";

export function plainText(m: Messages, list: readonly Row[]): string {
  return list.map((r) => row(m, r)).filter((b) => b !== "").join("\n\n");
}

const lines = (...l: (string | undefined)[]) => l.filter(Boolean).join("\n");

function row(m: Messages, r: Row): string {
  switch (r.kind) {
    case "item":
      if (r.outcome?.state === "outcomeUnknown") return lines(`${m.you} (${m.outcomeUnknown})`, prose(r.outcome.text ?? ""));
      return lines(block(m, r.item), state(m, r.item), r.item.partial ? m.itemPartial : "", ...r.cards.map((c) => asked(m, c)));
    case "plan":
      return lines(`${m.plan} (${m.planDone(r.steps.filter((s) => s.status === "completed").length, r.steps.length)})`,
        ...r.steps.map((s) => `${s.status === "completed" ? m.stepDone : s.status === "inProgress" ? m.stepNow : m.stepTodo} ${s.shown}`));
    case "turnError":
      return lines(m.turnFailed, r.shown ? m.quoted(r.shown) : "");
    case "outcome":
      return lines(`${m.you} (${r.outcome.state === "outcomeUnknown" ? m.outcomeUnknown : m.sending})`, prose(r.outcome.text ?? ""));
    case "card":
      return asked(m, r.card);
    case "notice":
      return lines(m.serverError + (r.times > 1 ? ` (${m.saidTimes(String(r.times))})` : ""), r.notice.shown ? m.quoted(r.notice.shown) : "", r.notice.problem ? problemText(r.notice.problem).text : "");
  }
}

/** A request and how it ended. */
function asked(m: Messages, c: Card): string {
  if (c.state === "refused") return lines(m.requestRefused, c.refusal ? problemText(c.refusal).text : "");
  return `${askTitle(m, c)} (${settledText(m, c).text})`;
}

/** What an item came to, unless it is simply done. */
function state(m: Messages, i: Item): string {
  switch (i.status) {
    case "running":
      return `(${m.running})`;
    case "declined":
      return `(${m.declined})`;
    case "abandoned":
      return `(${m.cutOff})`;
    case "failed":
      return i.command?.exitCode === undefined ? `(${m.failed})` : "";
  }
  return "";
}

function block(m: Messages, i: Item): string {
  if (i.malformed) return `${m.itemMalformed} ${i.type}`;
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
      return lines(`$ ${i.command?.shown ?? ""}`, code(body), i.command?.exitCode === undefined ? "" : m.exit(i.command.exitCode));
    case "fileChange":
      return (i.files ?? []).map((f) => `${m.files}: ${f.shownPath}${f.shownMove ? ` → ${f.shownMove}` : ""}\n${code(cut(f.diff, f.diff.text))}`).join("\n");
    case "mcpToolCall":
      return lines(`MCP ${i.mcp?.shownServer ?? ""} ${i.mcp?.shownTool ?? ""}`, code(i.mcp?.arguments.text ?? ""), code(cut(i.mcp?.result, i.mcp?.result?.text ?? "")), i.mcp?.shownError);
  }
  return lines(i.type, i.shownNote, prose(body));
}
