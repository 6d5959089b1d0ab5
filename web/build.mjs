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

const common = {
  absWorkingDir: here,
  outdir: "out",
  write: false,
  bundle: true,
  minify: true,
  target: ["chrome140", "firefox140", "safari18"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
};
const mode = { "process.env.NODE_ENV": '"production"' };
const nameOf = (path) => path.slice(path.lastIndexOf("/") + 1);

/**
 * Bundles everything and returns file name → bytes, and which of them the first screen needs. The page is a module that is split where
 * it imports dynamically. boot.ts stands in the page's own text: it asks for the first data and then for the module. The Markdown worker
 * is a script of its own.
 */
export async function bundle() {
  const files = new Map();
  const keep = (result) => { for (const f of result.outputFiles) files.set(nameOf(f.path), Buffer.from(f.contents)); };
  const page = await build({
    ...common, format: "esm", splitting: true, metafile: true, chunkNames: "[name]-[hash]",
    entryPoints: [{ in: "src/main.tsx", out: "page" }, { in: "src/style/page.css", out: "page" }],
    define: { ...mode, __MARKDOWN__: '"markdown.js"' },
  });
  keep(page);
  const outputs = new Map(Object.entries(page.metafile.outputs).map(([path, o]) => [nameOf(path), o]));
  const ja = [...outputs].find(([, o]) => o.entryPoint === "src/text/ja.ts")?.[0];
  if (!ja) throw new Error("the Japanese texts are no file of their own");
  const boot = (await build({ ...common, format: "iife", entryPoints: [{ in: "src/boot.ts", out: "boot" }], define: mode })).outputFiles[0].text.trim();
  if (/<\/script|<!--|\/assets\//i.test(boot)) throw new Error("the first script cannot stand in the page's own text");
  keep(await build({ ...common, format: "iife", entryPoints: [{ in: "src/markdown/worker.ts", out: "markdown" }], define: mode }));
  const first = new Set(["page.js"]);
  for (const name of first) for (const i of outputs.get(name).imports) if (i.kind === "import-statement") first.add(nameOf(i.path));
  const html = await readFile(join(here, "src", "index.html"), "utf8"), place = "<!-- boot -->";
  if (!html.includes(place)) throw new Error("index.html has no place for the first script");
  const paths = (names) => names.map((n) => "/assets/" + n).join(" ");
  const own = `<script data-first="${paths([...first])}" data-ja="${paths([ja])}">${boot}</script>`;
  files.set("index.html", Buffer.from(html.replace(place, () => own)));
  files.set("icon.svg", await readFile(join(here, "src", "icon.svg")));
  files.set("LICENSES.txt", await licenses());
  return { files, first: new Set([...first, "index.html", "page.css", "icon.svg"]) };
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

function report({ files, first }) {
  const kib = (n) => (n / 1024).toFixed(1) + " KiB";
  const say = (what, names) => {
    let raw = 0, gzip = 0, brotli = 0;
    for (const name of names) {
      const data = files.get(name);
      raw += data.length;
      gzip += gzipSync(data, { level: 9 }).length;
      brotli += brotliCompressSync(data).length;
    }
    console.log(`page: ${what} ${kib(raw)}, ${kib(gzip)} gzip, ${kib(brotli)} brotli`);
  };
  say("first screen", first);
  say("everything", [...files.keys()].filter((n) => n !== "LICENSES.txt")); // not loaded by the page
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const built = await bundle();
  const out = process.argv.indexOf("--out");
  if (process.argv.includes("--check")) await check(built.files);
  else await write(out > 0 ? process.argv[out + 1] : dist, built.files);
  report(built);
}
