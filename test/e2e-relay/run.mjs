// Runs the browser tests: node run.mjs [--short | --prepare] [--only=/pattern/] [file…]. Installs what is missing first: the npm packages of the lockfile and,
// as root on Debian, chromium with fonts for Japanese. The last line is "N passed, 0 failed".
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { run } from "node:test";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url)), root = join(here, "..", "..");
const only = process.argv.find((a) => a.startsWith("--only="))?.slice(7);
const short = process.argv.includes("--short");

function need(path, packages) {
  if (existsSync(path)) return;
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    console.error(`e2e-relay: ${path} is missing. Install it, for example: apt-get install ${packages.join(" ")}`);
    process.exit(1);
  }
  console.error(`e2e-relay: installing ${packages.join(", ")} (the browser that the tests drive)`);
  execFileSync("apt-get", ["update", "-qq"], { stdio: ["ignore", "ignore", "inherit"] });
  execFileSync("apt-get", ["install", "-qq", "-y", "--no-install-recommends", ...packages], { stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } });
}

if (!process.env.CHROMIUM) need("/usr/bin/chromium", ["chromium", "fonts-noto-cjk"]);
if (!existsSync("/usr/share/fonts/opentype/noto")) need("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc", ["fonts-noto-cjk"]);
if (!existsSync(join(here, "node_modules", "playwright-core")) || !existsSync(join(here, "node_modules", "axe-core"))) {
  execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], { cwd: here, stdio: "inherit" });
}

if (process.argv.includes("--prepare")) process.exit(0);

const bin = mkdtempSync(join(tmpdir(), "e2e-relay-"));
try {
  const ready = process.env.E2E_STAGE; // built already, for example with an overlay
  process.env.E2E_STAGE = ready ?? join(bin, "stage");
  process.env.E2E_SHORT = short ? "1" : "";
  if (!ready) execFileSync("go", ["build", "-buildvcs=false", "-o", process.env.E2E_STAGE, "./test/e2e-relay/stage"], { cwd: root, env: { ...process.env, CGO_ENABLED: "0" }, stdio: "inherit" });
  const given = process.argv.slice(2).filter((a) => !a.startsWith("--"));
  const all = readdirSync(here).filter((f) => f.endsWith(".test.mjs")).sort();
  const whole = all.filter((f) => f !== "short.test.mjs"); // what it has is in the others, too
  const files = given.length > 0 ? given.map((f) => (f.endsWith(".test.mjs") ? f : f + ".test.mjs")) : short ? ["short", "policy", "security", "start", "deceive", "stream"].map((f) => f + ".test.mjs") : whole;
  let passed = 0, failed = 0;
  const skipped = [];
  await new Promise((resolve) => {
    run({ files: files.map((f) => join(here, f)), concurrency: 1, timeout: 60 * 60_000, ...(only ? { testNamePatterns: [only] } : {}) })
      .on("test:pass", (t) => {
        if (t.details?.type === "suite" || t.name.endsWith(".test.mjs")) return;
        if (t.skip !== undefined || t.todo !== undefined) skipped.push(t.name);
        else passed++;
        console.log(`ok    ${t.name} (${Math.round(t.details.duration_ms)} ms)`);
      })
      .on("test:fail", (t) => {
        if (t.details?.type === "suite") return;
        if (t.name.endsWith(".test.mjs") && t.details?.error?.failureType === "subtestsFailed") return;
        failed++;
        console.log(`FAIL  ${t.name}\n${t.details?.error?.cause?.stack ?? t.details?.error?.stack ?? ""}`);
      })
      .on("test:diagnostic", (d) => { if (/^(e2e:|decided |\d+ rules passed)/.test(d.message)) console.log("      " + d.message); })
      .on("test:stderr", (d) => process.stderr.write(d.message))
      .on("test:stdout", (d) => process.stdout.write(d.message))
      .on("close", resolve).on("end", resolve).resume();
  });
  // A skipped test is none that passed (R-REL-02).
  if (only) skipped.length = 0;
  for (const name of skipped) console.log(`FAIL  ${name}: skipped`);
  failed += skipped.length;
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
} finally {
  rmSync(bin, { recursive: true, force: true });
}
