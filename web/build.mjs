// Builds the page into internal/relay/web/dist, which is committed and embedded in the program.
//
//   node build.mjs             writes it
//   node build.mjs --check     fails when what is committed differs
//   node build.mjs --out DIR   writes it elsewhere
//
// The result is the same on every machine: exact versions from the lockfile, fixed names, no time, no path, no source map.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "..", "internal", "relay", "web", "dist");

/** Bundles everything and returns file name → bytes. */
export async function bundle() {
  const result = await build({
    absWorkingDir: here,
    entryPoints: [
      { in: "src/main.tsx", out: "page" },
      { in: "src/markdown/worker.ts", out: "markdown" },
      { in: "src/style/page.css", out: "page" },
    ],
    outdir: "out",
    write: false,
    bundle: true,
    minify: true,
    format: "iife",
    target: ["chrome140", "firefox140", "safari18"],
    jsx: "automatic",
    jsxImportSource: "preact",
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const files = new Map();
  for (const f of result.outputFiles) files.set(f.path.slice(f.path.lastIndexOf("/") + 1), Buffer.from(f.contents));
  files.set("index.html", await readFile(join(here, "src", "index.html")));
  files.set("icon.svg", await readFile(join(here, "src", "icon.svg")));
  files.set("LICENSES.txt", await licenses());
  return files;
}

// Every bundled package comes with its licence.
async function licenses() {
  const lock = JSON.parse(await readFile(join(here, "package-lock.json"), "utf8"));
  const parts = ["Third-party code in this page.\n"];
  for (const [path, p] of Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (path === "" || p.dev || p.optional || path.startsWith("node_modules/@types/")) continue;
    const dir = join(here, path);
    const name = (await readdir(dir)).find((f) => /^licen[cs]e/i.test(f));
    parts.push(`\n${path.slice("node_modules/".length)} ${p.version} (${p.license})\n\n` + (name ? (await readFile(join(dir, name), "utf8")).trim() : "No licence file in the package.") + "\n");
  }
  return Buffer.from(parts.join(""));
}

async function write(dir, files) {
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  for (const [name, data] of files) await writeFile(join(dir, name), data);
}

const sum = (data) => createHash("sha256").update(data).digest("hex").slice(0, 12);

async function check(files) {
  const differing = [];
  const committed = new Set(await readdir(dist));
  for (const [name, data] of files) {
    const now = committed.delete(name) ? await readFile(join(dist, name)) : undefined;
    if (!now?.equals(data)) differing.push(`${name}: ${now ? sum(now) : "absent"} is committed, ${sum(data)} was built`);
  }
  for (const name of committed) differing.push(`${name}: is committed and not built`);
  if (differing.length > 0) {
    console.error(`page: internal/relay/web/dist differs from what web/ builds; run make page and commit it\n${differing.join("\n")}`);
    process.exitCode = 1;
  }
}

function report(files) {
  let raw = 0, gzip = 0, brotli = 0;
  for (const [name, data] of files) {
    if (name === "LICENSES.txt") continue; // not loaded by the page
    raw += data.length;
    gzip += gzipSync(data, { level: 9 }).length;
    brotli += brotliCompressSync(data).length;
  }
  const kib = (n) => (n / 1024).toFixed(1) + " KiB";
  console.log(`page: ${kib(raw)}, ${kib(gzip)} gzip, ${kib(brotli)} brotli`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = await bundle();
  const out = process.argv.indexOf("--out");
  if (process.argv.includes("--check")) await check(files);
  else await write(out > 0 ? process.argv[out + 1] : dist, files);
  report(files);
}
