// The page's content policy, from inside the page: what a script that got in could try, and what stands in the page's text. Everything
// that must fail is tried in the same page without the policy, too, where it has to succeed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { context, launch } from "./lib/browser.mjs";
import { site } from "./lib/site.mjs";
import { Stage } from "./lib/stage.mjs";

const header = "content-security-policy";
let stage, browser, world, policy, sum;

before(async () => {
  stage = new Stage();
  // The browser keeps a page that a test hands it from this machine's ports by itself. What is shown here is the policy.
  browser = await launch("--disable-features=Translate,OptimizationHints,MediaRouter,LocalNetworkAccessChecks");
  world = await stage.open({ scripts: ["empty"] });
  policy = (await fetch(world.origin)).headers.get(header);
  sum = /'(sha256-[^']+)'/.exec(policy)[1];
});
after(async () => {
  await browser?.close();
  await stage?.close();
});

/** The page of the world, with another text or another policy (undefined: none). */
async function served(t, { html = (text) => text, as = (p) => p, address = world.origin + "/" } = {}) {
  const c = await context(browser), page = await c.newPage(), asked = [];
  t.after(() => c.close());
  page.on("request", (r) => asked.push(new URL(r.url()).pathname.split("/").at(-1)));
  await page.route(world.origin + "/", async (route) => {
    const response = await route.fetch(), headers = response.headers(), changed = as(policy);
    delete headers[header];
    await route.fulfill({ response, headers: changed === undefined ? headers : { ...headers, [header]: changed }, body: html(await response.text()) });
  });
  await page.goto(address);
  await page.waitForLoadState("load");
  return { page, asked };
}

/** Runs in the page: what each attempt came to. */
async function attempts({ url, sum, stay }) {
  const out = {}, dir = document.querySelector("script[data-first]").dataset.first.split("page.js")[0];
  await new Promise((r) => setTimeout(r)); // what a debugger runs at once may do more than the page
  const go = async (name, f) => { try { out[name] = (await f()) ?? "done"; } catch (e) { out[name] = e.name; } };
  const told = (el, set) => new Promise((r) => { el.onload = () => r("loaded"); el.onerror = () => r("refused"); set(el); });
  await go("eval", () => { globalThis.eval("1"); });
  await go("Function", () => { new Function("return 1")(); });
  await go("innerHTML", () => { document.createElement("div").innerHTML = "<b>x</b>"; });
  await go("policy", () => { trustedTypes.createPolicy("mine", { createHTML: (x) => x }); });
  await go("again", () => { trustedTypes.createPolicy("relaycodex", { createHTML: (x) => x }); });
  await go("default", () => { trustedTypes.createPolicy("default", {}); });
  await go("worker", () => { new Worker(dir + "markdown.js").terminate(); });
  await go("inline", () => { const s = document.createElement("script"); s.textContent = "window.inline = 1"; document.head.append(s); return String(window.inline); });
  await go("handler", () => { const b = document.createElement("b"); b.setAttribute("onclick", "window.handler = 1"); document.body.append(b); b.click(); b.remove(); return String(window.handler); });
  await go("fetch", () => fetch(url + "/fetch").then(() => {}));
  await go("beacon", () => { navigator.sendBeacon(url + "/beacon", "x"); });
  await go("image", () => told(new Image(), (i) => { i.src = url + "/image"; }));
  await go("socket", () => new Promise((r) => { const s = new WebSocket(url.replace("http", "ws") + "/socket"); s.onerror = () => r("refused"); }));
  // A policy that names a sum lets a browser fetch whatever says that it has that sum.
  for (const rel of ["modulepreload", "preload"]) {
    await go(rel, () => told(document.createElement("link"), (l) => {
      Object.assign(l, { rel, as: "script", href: url + "/" + rel, integrity: sum, crossOrigin: "anonymous" });
      document.head.append(l);
    }));
  }
  await go("frame", () => new Promise((r) => { const f = document.createElement("iframe"); f.onload = () => r("done"); f.src = url + "/frame"; document.body.append(f); setTimeout(() => r("refused"), 500); }));
  await go("form", () => new Promise((r) => {
    const f = document.createElement("form");
    Object.assign(f, { action: url + "/form", method: "post", target: stay });
    document.body.append(f);
    f.submit();
    setTimeout(() => r("refused"), 500);
  }));
  return out;
}

// proves R-UI-01
test("no inline script, no eval, no markup by string, nothing from elsewhere, no second policy", async (t) => {
  const elsewhere = await site(t), control = await site(t);
  const at = ({ port }) => `http://127.0.0.1:${port}`, reached = ({ requests }) => [...new Set(requests.map((r) => r.url.slice(1)))].sort();
  const { page } = await served(t, { address: await world.fresh() }), { page: open } = await served(t, { as: () => undefined, address: await world.fresh() });
  for (const p of [page, open]) await p.locator(".app").waitFor();
  await open.evaluate(() => { const f = document.createElement("iframe"); f.name = "stay"; document.body.append(f); });
  const got = await page.evaluate(attempts, { url: at(elsewhere), sum, stay: "" }), free = await open.evaluate(attempts, { url: at(control), sum, stay: "stay" });

  const want = { eval: "EvalError", Function: "EvalError", innerHTML: "TypeError", policy: "TypeError", again: "TypeError", default: "TypeError", worker: "TypeError", inline: "TypeError", handler: "TypeError" };
  assert.deepEqual(Object.fromEntries(Object.keys(want).map((name) => [name, got[name]])), want);
  assert.deepEqual(Object.fromEntries(Object.keys(want).map((name) => [name, free[name]])),
    { eval: "done", Function: "done", innerHTML: "done", policy: "done", again: "done", default: "done", worker: "done", inline: "1", handler: "1" }, "the control");
  assert.deepEqual(reached(elsewhere), [], "something reached another port");
  assert.deepEqual(reached(control), ["beacon", "fetch", "form", "frame", "image", "modulepreload", "preload", "socket"], "the control");
});

// A policy names the script of the page's own text by its sum: another byte in it, or another script beside it, and the browser runs
// nothing of that. The other policy keeps what may be fetched to this endpoint, whoever says that it has that sum.
//
// proves R-UI-01
test("a script in the page's text runs as it was built and not otherwise", async (t) => {
  const ran = async (html, as) => {
    const { page, asked } = await served(t, { html, as });
    return { asked: asked.includes("page.js"), ran: await page.evaluate(() => globalThis.ran === 1) };
  };
  const none = () => undefined, changed = (text) => text.replace("window.relayBegun=", "window.ran=1,window.relayBegun="), another = (text) => text.replace("<body>", "<body><script>window.ran=1</script>");
  assert.deepEqual(await ran((text) => text), { asked: true, ran: false }, "the control");
  assert.deepEqual(await ran(changed), { asked: false, ran: false });
  assert.deepEqual(await ran(changed, none), { asked: true, ran: true }, "the control");
  assert.deepEqual(await ran(another), { asked: true, ran: false });
  assert.deepEqual(await ran(another, none), { asked: true, ran: true }, "the control");
});

// proves R-UI-01
test("nothing that stands in the page's text is fetched from elsewhere, by whatever sum", async (t) => {
  const reached = async (change, as) => {
    const { port, requests } = await site(t, "globalThis.ran = 1", { "Content-Type": "text/javascript" });
    const { page } = await served(t, { html: (text) => change(text, `http://127.0.0.1:${port}`), as });
    await page.waitForTimeout(500);
    return [...new Set(requests.map((r) => r.url))].sort();
  };
  const module = (text, url) => text.replace(/data-first="[^"]*"/, `data-first="${url}/page.js ${url}/part.js"`);
  const bySum = (text, url) => text.replace("<link rel=", `<link rel="modulepreload" href="${url}/side.js" integrity="${sum}" crossorigin><script src="${url}/script.js" integrity="${sum}" crossorigin></script><link rel=`);
  assert.deepEqual(await reached(module), []);
  assert.deepEqual(await reached(module, () => undefined), ["/page.js", "/part.js"], "the control");
  assert.deepEqual(await reached(bySum), []);
  assert.deepEqual(await reached(bySum, (p) => p.split(",")[0]), ["/script.js", "/side.js"], "the control: with the sum alone");
});
