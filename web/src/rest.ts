// What the first screen does not need, as one file: read when it is needed, or else once that screen is painted.
export { Ask } from "./dock/Ask";
export { sanitize } from "./sanitize";
export { Dialogs } from "./shell/dialogs";
