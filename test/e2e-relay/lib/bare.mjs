// A Chromium that is watched as little as can be, for measurements: a driver that follows requests, keeps a world of its own in each
// document and evaluates what it waits for takes a fifth of the processor time that a page needs until it is painted.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { executable, looks, switches } from "./browser.mjs";

export class Bare {
  #child;
  #profile = mkdtempSync(join(tmpdir(), "bare-"));
  #waiting = new Map();
  #told = new Map();
  #last = 0;
  #rest = "";

  constructor() {
    const { width, height } = looks.widths.wide;
    this.#child = spawn(executable, ["--headless", `--window-size=${width},${height}`, "--hide-scrollbars", "--lang=en-GB", "--password-store=basic", "--disable-extensions", "--disable-default-apps",
      "--disable-breakpad", "--disable-field-trial-config", "--disable-dev-shm-usage", ...switches, `--user-data-dir=${this.#profile}`, "--remote-debugging-pipe", "about:blank"],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], env: { ...process.env, TZ: "UTC" } });
    this.#child.stdio[4].setEncoding("utf8").on("data", (text) => {
      const all = (this.#rest + text).split("\0");
      this.#rest = all.pop();
      for (const one of all) this.#hear(JSON.parse(one));
    });
    this.#child.on("exit", () => { for (const w of this.#waiting.values()) w.reject(new Error("the browser ended")); });
  }

  #hear(m) {
    if (m.id !== undefined) {
      const w = this.#waiting.get(m.id);
      this.#waiting.delete(m.id);
      if (m.error) w.reject(new Error(m.error.message));
      else w.resolve(m.result);
    } else if (m.method === "Runtime.bindingCalled") this.#told.get(m.sessionId)?.(m.params.payload);
  }

  call(method, params = {}, sessionId) {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.stdio[3].write(JSON.stringify({ id, method, params, ...(sessionId ? { sessionId } : {}) }) + "\0");
    });
  }

  /** An empty tab. script runs in its documents before everything else, and says something by tell(text). */
  async tab(script) {
    const { targetId } = await this.call("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.call("Target.attachToTarget", { targetId, flatten: true });
    let said;
    const told = new Promise((r) => { said = r; });
    this.#told.set(sessionId, said);
    await this.call("Emulation.setDeviceMetricsOverride", { ...looks.widths.wide, deviceScaleFactor: 1, mobile: false }, sessionId);
    await this.call("Page.enable", {}, sessionId);
    await this.call("Runtime.enable", {}, sessionId);
    await this.call("Runtime.addBinding", { name: "tell" }, sessionId);
    if (script) await this.call("Page.addScriptToEvaluateOnNewDocument", { source: script }, sessionId);
    return {
      /** What the script said first. */
      told,
      go: (url) => this.call("Page.navigate", { url }, sessionId),
      run: async (expression) => {
        const r = await this.call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true }, sessionId);
        if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception?.description ?? r.exceptionDetails.text);
        return r.result.value;
      },
      close: async () => {
        this.#told.delete(sessionId);
        await this.call("Target.closeTarget", { targetId });
      },
    };
  }

  async close() {
    const gone = new Promise((r) => this.#child.on("exit", r));
    await this.call("Browser.close").catch(() => {});
    await gone;
    rmSync(this.#profile, { recursive: true, force: true });
  }
}
