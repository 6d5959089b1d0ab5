// Everything that can be judged without a browser: types, unit tests (node's runner over an esbuild bundle), and whether the
// committed page is what the sources build.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

function run(...args) {
  const r = spawnSync(process.execPath, args, { cwd: here, stdio: "inherit" });
  if (r.status !== 0) process.exit(r.status ?? 1);
}

run("node_modules/typescript/bin/tsc", "-p", "tsconfig.test.json");

const out = mkdtempSync(join(tmpdir(), "page-test-"));
try {
  const tests = readdirSync(join(here, "test")).filter((f) => f.endsWith(".test.ts"));
  await build({
    absWorkingDir: here, entryPoints: tests.map((f) => "test/" + f), outdir: out, outExtension: { ".js": ".mjs" },
    bundle: true, platform: "node", format: "esm", target: "node20", jsx: "automatic", jsxImportSource: "preact", logLevel: "warning",
    define: { __MARKDOWN__: '"markdown.js"' },
  });
  run("--test", ...tests.map((f) => join(out, f.replace(/\.ts$/, ".mjs"))));
} finally {
  rmSync(out, { recursive: true, force: true });
}
run("build.mjs", "--check");
