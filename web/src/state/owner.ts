// When another owner comes, nothing of the earlier one stays on the page (R-PRI-05): not the thread that was shown, not what
// was read whole, chosen or said about it. What was typed is set aside by drafts.ts.
import { effect } from "@preact/signals";
import { fresh, next } from "../composer/send";
import { chosen } from "../dock/settled";
import { forgetPlaces } from "../feed/spots";
import { forgetItems } from "../feed/state";
import { current, dialog, leaving, opening, owner, seek, show } from "./page";
import { troubles } from "./trouble";

let who: string | undefined;

/** Exported for its test. */
export function ownerIs(name: string): void {
  if (who !== undefined && who !== name) {
    forgetItems();
    forgetPlaces();
    chosen.value = new Map();
    troubles.value = new Map();
    next.value = new Map();
    fresh.value = {};
    opening.value = undefined;
    seek.value = undefined;
    leaving.value = undefined;
    if (dialog.peek() === "plain" || dialog.peek() === "search") dialog.value = "";
    if (current.peek() !== "") void show("");
  }
  who = name;
}

export function startOwner(): void {
  effect(() => {
    const o = owner.value;
    // The epoch is another one after every connection; the owner is not.
    if (o) ownerIs(JSON.stringify([o.profile, o.account, o.root]));
  });
}
