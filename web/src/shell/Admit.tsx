// A tab that the worker does not know takes the key of a fresh address, without a reload, so that nothing that was typed is lost.
import { useId, useState } from "preact/hooks";
import { Button } from "../parts/parts";
import { link } from "../state/page";
import { useSay } from "../state/say";
import { texts } from "../text";

export function Admit({ compact }: { compact?: boolean }) {
  const m = texts.value;
  const id = useId();
  const [value, setValue] = useState("");
  const [state, setState] = useState<"" | "busy" | "no">("");
  useSay("alert", state === "no" ? m.addressNotTaken : "");
  return (
    <form class={"admit" + (compact ? " compact" : "")} onSubmit={async (e) => {
      e.preventDefault();
      if (value.trim() === "" || state === "busy") return;
      setState("busy");
      const ok = await link().submitKey(value.trim());
      setState(ok ? "" : "no");
      if (ok) setValue("");
    }}>
      <label class="lbl" for={id}>{m.freshAddress}</label>
      <div class="copyline">
        <input id={id} class="field mono" type="text" autocomplete="off" spellcheck={false} autocapitalize="off" placeholder="http://127.0.0.1:…/#…" value={value} {...(state === "no" ? { "aria-invalid": true, "aria-describedby": id + "e" } : {})} onInput={(e) => { setValue(e.currentTarget.value); setState(""); }} />
        <Button type="submit" busy={state === "busy"}>{m.useAddress}</Button>
      </div>
      {state === "no" ? <p class="err" id={id + "e"}>{m.addressNotTaken}</p> : null}
    </form>
  );
}
