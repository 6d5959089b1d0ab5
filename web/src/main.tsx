import { render } from "preact";
import { createLink } from "./link/link";
import { browserEnv } from "./link/browser";
import { createRenderer } from "./markdown/client";
import { inTime, startLater } from "./parts/later";
import { startDrafts } from "./state/drafts";
import { startKeys } from "./state/keys";
import { startOwner } from "./state/owner";
import { startReopening, startShowing, usePage } from "./state/page";
import { startSaying } from "./state/say";
import { startSettings } from "./state/settings";
import { App } from "./shell/App";
import { loadProblems, startTexts } from "./text";

startSettings();
const readable = startTexts();
const begun = window.relayBegun;
window.relayBegun = undefined; // it holds a session key: one holder is enough
const link = createLink({ ...browserEnv(), begun });
usePage(link, createRenderer());
startDrafts();
startOwner();
startSaying();
startKeys();
startReopening();
startShowing();
inTime(loadProblems);

/** How long nothing is drawn while the first answer is on its way, in ms: one drawing with everything is sooner done than two. */
const patience = 300;
await Promise.all([readable, Promise.race([link.first, new Promise((r) => setTimeout(r, patience))])]);
const root = document.getElementById("root");
if (root) render(<App />, root);
startLater();
