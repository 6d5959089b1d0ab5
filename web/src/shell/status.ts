// The state of everything in one glyph, one word and one fact. Pure.
import type { Connection, Profile } from "../contract";
import type { OpenThread, Phase } from "../link/types";
import type { IconName } from "../parts/Icon";
import type { Messages } from "../text";

export interface Status {
  icon: IconName;
  tone?: "good" | "attn" | "bad";
  spin?: boolean;
  word: string;
  fact: string;
}

export function statusOf(m: Messages, phase: Phase, c: Connection | undefined, thread: OpenThread | undefined, profiles: readonly Profile[] = []): Status {
  switch (phase.name) {
    case "starting":
      return { icon: "arc", tone: "attn", spin: true, word: m.connStarting, fact: "" };
    case "lost":
      return { icon: "arc", tone: "attn", spin: true, word: m.connWorkerLost, fact: m.connWorkerLostFact };
    case "refused":
      return { icon: "stop", tone: "bad", word: m.connRefused, fact: m.connRefusedFact };
    case "mismatch":
      return { icon: "warn", tone: "bad", word: m.connMismatch, fact: m.connMismatchFact };
  }
  if (!c) return { icon: "arc", tone: "attn", spin: true, word: m.connStarting, fact: "" };
  const local = c.transport === "local";
  const version = c.server?.version ? `CLI ${c.server.version}` : "";
  switch (c.state) {
    case "connected": {
      if (thread && thread.head.mode === "viewing") return { icon: "eye", tone: "attn", word: m.connHistory, fact: m.connHistoryFact };
      const facts = local ? [version, c.process ? m.connProcess(String(c.process.pid)) : ""] : [version, c.host, m.connRemoteSandbox];
      return { icon: "dot", tone: "good", word: local ? m.connServerRunning : m.connConnected, fact: facts.filter(Boolean).join(m.comma) };
    }
    case "connecting":
      return { icon: "arc", tone: "attn", spin: true, word: local ? m.connServerStarting : m.connConnecting, fact: local ? "" : c.host };
    case "reconnecting":
      return { icon: "arc", tone: "attn", spin: true, word: local ? m.connServerRestarting : m.connReconnecting, fact: local ? "" : c.host };
    case "waitingForManualReconnect":
      if (c.problem?.code === "codex.not_found") return { icon: "stop", tone: "bad", word: m.connNoServer, fact: "" };
      if (c.problem?.code === "relay.owner_changed") return { icon: "warn", tone: "bad", word: m.connOwnerChanged, fact: m.connOwnerChangedFact };
      if (local && c.process && !c.process.running) return { icon: "stop", tone: "bad", word: m.connServerEnded, fact: c.process.exit ?? "" };
      return { icon: "stop", tone: "bad", word: m.connManual, fact: m.connManualFact };
    case "offline":
      if (profiles.some((p) => p.name === c.profile && !p.enabled)) return { icon: "lock", tone: "attn", word: m.connDisabled, fact: m.connDisabledFact };
      if (c.generation === 0) return { icon: "ring", word: m.connOffline, fact: "" }; // nobody has connected yet, so nobody has stopped it
      return { icon: "ring", word: m.connOffline, fact: m.connOfflineFact };
  }
}
