import { effect } from "@preact/signals";
import { render } from "preact";
import { createLink } from "./link/link";
import { browserEnv } from "./link/browser";
import { createRenderer } from "./markdown/client";
import { startDrafts } from "./state/drafts";
import { startKeys } from "./state/keys";
import { startOwner } from "./state/owner";
import { resume, startReopening, usePage } from "./state/page";
import { startSaying } from "./state/say";
import { startSettings } from "./state/settings";
import { App } from "./shell/App";
import { startTexts } from "./text";

startSettings();
startTexts();
const link = createLink(browserEnv());
usePage(link, createRenderer());
startDrafts();
startOwner();
startSaying();
startKeys();
startReopening();
let resumed = false;
effect(() => {
  const s = link.state.value;
  if (s && !resumed) {
    resumed = true;
    resume(s);
  }
});
const root = document.getElementById("root");
if (root) render(<App />, root);
