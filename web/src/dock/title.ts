// What a card asks, in our words only: no text of the server stands in a label (R-INT-08).
import type { Card } from "../contract";
import type { Messages } from "../text";

export function askTitle(m: Messages, c: Card): string {
  switch (c.kind) {
    case "command":
      if (c.command?.network) return m.askNetwork;
      return c.command?.stdin ? m.askStdin : m.askCommand;
    case "file_change":
      return m.askFiles(c.file?.changes?.length ?? 0);
    case "permissions":
      return m.askPermissions;
    case "question":
      return m.askQuestions(c.questions?.questions.length ?? 1);
    case "form":
      return m.askForm;
    case "mcp_tool":
      return m.askTool;
    case "refused":
      return m.requestRefused;
  }
}

/** What a choice does, and the server's own name for it. */
export function choiceName(m: Messages, card: Card, kind: string): { name: string; what: string; raw: string } {
  const file = card.kind === "file_change", tool = card.kind === "mcp_tool", net = card.command?.network !== undefined, stdin = card.command?.stdin ?? false;
  switch (kind) {
    case "accept":
      return { name: tool || net ? m.allowOnce : file ? m.applyChanges : stdin ? m.sendInput : m.runOnce, what: tool ? m.allowOnceWhat : file ? m.applyChangesWhat : stdin ? m.sendInputWhat : m.runOnceWhat, raw: kind };
    case "acceptForSession":
      return { name: file ? m.applySession : m.runSession, what: file ? m.applySessionWhat : m.runSessionWhat, raw: kind };
    case "acceptSession":
      return { name: m.allowSession, what: m.allowSessionWhat, raw: "accept, persist session" };
    case "acceptAlways":
      return { name: m.allowAlways, what: m.allowAlwaysWhat, raw: "accept, persist always" };
    case "acceptWithExecpolicyAmendment":
      return { name: m.runRule, what: "", raw: kind };
    case "applyNetworkPolicyAmendment":
      return { name: m.networkRule, what: "", raw: kind };
    case "decline":
      return { name: tool ? m.declineTool : file ? m.declineFiles : m.declineCommand, what: tool ? m.declineToolWhat : m.declineWhat, raw: kind };
    case "cancel":
      return tool ? { name: m.dismiss, what: m.dismissWhat, raw: kind } : { name: file ? m.cancelFiles : m.cancelCommand, what: m.cancelWhat, raw: kind };
  }
  return { name: kind, what: "", raw: kind };
}
