// The one button that makes a connection, by what that means now.
import { Button } from "../parts/parts";
import { connection, profiles } from "../state/page";
import { texts } from "../text";
import { end } from "./end";

/** Local profiles restart their server, remote ones only the connection (R-CONN-05); one that is off is enabled first (R-CONN-11). */
export function Reconnect({ class: extra, kind = "quiet", label }: { class?: string; kind?: "quiet" | "primary" | undefined; label?: string }) {
  const m = texts.value;
  const c = connection.value;
  const off = profiles.value.find((p) => p.selected && !p.enabled);
  const word = off ? m.enableAndConnect : label ?? (c?.transport === "remote" ? m.reconnect : c?.state === "connected" ? m.restartServer : m.startServer);
  return <Button kind={kind === "quiet" ? "quiet" : undefined} {...(extra ? { class: extra } : {})} onClick={() => end(off ? { kind: "connect", profile: off.name, enable: true } : { kind: "reconnect" })}>{word}</Button>;
}
