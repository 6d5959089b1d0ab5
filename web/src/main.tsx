import { render } from "preact";

const root = document.getElementById("root");
if (root) render(<main class="page"><h1>relaycodex</h1></main>, root);
