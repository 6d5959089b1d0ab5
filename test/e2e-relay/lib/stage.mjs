// The other side of the page: worlds of one server and one worker each, played by test/e2e-relay/stage.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");

/** The pinned codex, installed once and verified. */
export function codex(version = "0.159.1") {
  return execFileSync(join(root, "scripts", "codex"), [version], { encoding: "utf8" }).trim();
}

let built;

function program() {
  if (process.env.E2E_STAGE) return process.env.E2E_STAGE; // built by run.mjs for all files
  if (!built) {
    const dir = mkdtempSync(join(tmpdir(), "e2e-relay-bin-"));
    built = join(dir, "stage");
    execFileSync("go", ["build", "-buildvcs=false", "-o", built, "./test/e2e-relay/stage"], { cwd: root, env: { ...process.env, CGO_ENABLED: "0" }, stdio: "inherit" });
    process.on("exit", () => rmSync(dir, { recursive: true, force: true }));
  }
  return built;
}

export class Stage {
  #child = spawn(program(), [], { stdio: ["pipe", "pipe", "inherit"] });
  #waiting = new Map();
  #last = 0;
  #ended;

  constructor() {
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      const a = JSON.parse(line), w = this.#waiting.get(a.id);
      this.#waiting.delete(a.id);
      if (a.error) w.reject(new Error("stage: " + a.error));
      else w.resolve(a.value);
    });
    this.#ended = new Promise((resolve) => this.#child.on("exit", (code) => {
      for (const w of this.#waiting.values()) w.reject(new Error("the stage ended"));
      resolve(code);
    }));
  }

  call(what, world, args) {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.stdin.write(JSON.stringify({ id, do: what, world, args }) + "\n");
    });
  }

  /** A world; options are those of stage/world.go. Without scripts it has the real codex. */
  async open(options = {}) {
    const made = await this.call("open", 0, { codex: options.scripts || options.noCodex ? "" : codex(), ...options });
    return new World(this, made);
  }

  async close() {
    this.#child.stdin.end();
    const code = await this.#ended;
    if (code !== 0) throw new Error(`the stage ended with ${code}`);
  }
}

export class World {
  constructor(stage, { world, address, work }) {
    Object.assign(this, { stage, id: world, address, work, origin: new URL(address).origin });
  }

  do(what, args) {
    return this.stage.call(what, this.id, args);
  }

  fresh() {
    return this.do("address");
  }

  close() {
    return this.do("close");
  }

  /** What the worker sent, by method. */
  async sent(method) {
    return (await this.do("wire")).filter((f) => f.sent && f.method === method).map((f) => f.params);
  }

  /** The answers to the server's requests of a method, in order: a list for each request. */
  async answers(method) {
    const wire = await this.do("wire");
    return wire.filter((f) => !f.sent && f.method === method && f.id !== undefined).map((ask) => wire.filter((f) => f.sent && !f.method && f.id === ask.id).map((f) => f.result ?? f.error));
  }
}
