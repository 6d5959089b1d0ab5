import assert from "node:assert/strict";
import { test } from "node:test";
import { blocks } from "../src/markdown/blocks";
import { fits, limits } from "../src/markdown/limits";
import { code, markdown } from "../src/markdown/render";
import { createRenderer, type Engine } from "../src/markdown/renderer";
import type { RenderRequest, RenderResult } from "../src/markdown/types";
import { Random } from "./random";

// proves R-PRI-01
test("markup of a model is text, and nothing that it says is fetched or followed", () => {
  const hostile = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "a <b>b</b>", "<!-- x -->", "<iframe src=//evil.example>",
    "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](data:text/html,<script>)", "[x](vbscript:x)", "[x](//evil.example)", "[x](/local)", "[x](file:///etc/passwd)",
    "![x](https://evil.example/p.png)", "![<b>](data:image/svg+xml;base64,AA)", "[a\"b](https://x.example/\"onmouseover=\"alert(1))", "<https://evil.example>", "<javascript:alert(1)>",
    "```\"><script>alert(1)</script>\nx\n```", "```js onload=alert(1)\n</code><script>alert(1)</script>\n```", "[x]: javascript:alert(1)\n\n[x]", "&#106;avascript:alert(1)", "| a |\n|:-:|\n| <i> |",
    "[x](https://ok.example 'title\" onclick=\"alert(1)')", "[![x](https://a.example/1.png)](https://b.example/2)",
  ];
  for (const text of hostile) {
    const html = markdown(text)!;
    for (const tag of html.match(/<[^>]*>/g) ?? []) {
      assert.match(tag, /^<\/?(p|br|hr|h[1-6]|strong|em|s|code|pre|blockquote|ul|ol|li|table|thead|tbody|tr|th|td|a|span)(?= |>)((?: (?:class|data-href|data-img|data-alt|data-language|start)="[^"<>]*")*)>$/, text);
      assert.doesNotMatch(tag, / (href|src|srcset|style|title|on\w+)=/, text);
      const to = /data-href="([^"]*)"/.exec(tag)?.[1];
      if (to !== undefined) assert.match(to, /^(https?:\/\/|mailto:)/, text);
    }
  }
  assert.match(markdown("[x](https://ok.example/?a=1&b=2)")!, /<a data-href="https:\/\/ok\.example\/\?a=1&amp;b=2">x<\/a>/);
  assert.match(markdown("![a *b*](https://x.example/1.png)")!, /<span data-img="https:\/\/x\.example\/1\.png" data-alt="a b">a b<\/span>/);
});

test("code of a known language is marked, of another one escaped", () => {
  assert.match(code("func main() {}", "go"), /<span class="hljs-keyword">func<\/span>/);
  assert.equal(code("<b>&", "nonsense"), "&lt;b&gt;&amp;");
  assert.equal(code("<b>&", "__proto__"), "&lt;b&gt;&amp;");
  assert.match(markdown("```go\nfunc f()\n```")!, /<pre><code data-language="go">.*hljs-keyword/);
});

test("finished blocks never change while a text grows, and nothing is lost", () => {
  const pieces = ["para\n", "\n", "\n\n", "- item\n", "  more\n", "1. one\n", "12", ". x\n", "```\n", "```js\n", "~~~\n", "> q\n", "    code\n", "# h\n", "| a |\n", "text ", "`", "\r\n", " \n"];
  for (let seed = 1; seed <= 400; seed++) {
    const r = new Random(seed);
    let text = "", before: string[] = [];
    for (let i = 0; i < 60; i++) {
      text += r.of(pieces);
      const { done, tail } = blocks(text);
      assert.equal(done.join("") + tail, text, `seed ${seed}`);
      assert.deepEqual(done.slice(0, before.length), before, `seed ${seed}: ${JSON.stringify(text)}`);
      before = done;
    }
  }
  assert.deepEqual(blocks("a\n\nb\n\n```\nx\n\ny\n```\n\nc"), { done: ["a\n\n", "b\n\n", "```\nx\n\ny\n```\n\n"], tail: "c" });
  assert.deepEqual(blocks("- a\n\n- b\n\nend"), { done: ["- a\n\n- b\n\n"], tail: "end" });
});

function engines(answer: (r: RenderRequest) => RenderResult | undefined) {
  const asked: RenderRequest[] = [], timers = new Set<() => void>();
  let started = 0, ended = 0;
  const env = {
    start: (): Engine => {
      started++;
      const e: Engine = { onmessage: null, onerror: null, terminate: () => { ended++; }, postMessage: (r) => {
        asked.push(r);
        const out = answer(r);
        if (out) queueMicrotask(() => e.onmessage?.({ data: out } as MessageEvent<RenderResult>));
      } };
      return e;
    },
    timer: (f: () => void) => { timers.add(f); return () => timers.delete(f); },
  };
  return { env, asked, counts: () => ({ started, ended }), expire: () => { for (const f of [...timers]) { timers.delete(f); f(); } } };
}

// report 44
test("too large a text is never sent to the worker, and a worker that does not answer is ended", async () => {
  const e = engines((r) => (r.text === "hang" ? undefined : { id: r.id, html: "<p>" + r.text + "</p>" }));
  const renderer = createRenderer(e.env);
  assert.equal(await renderer.markdown("x".repeat(8 << 20)), undefined);
  assert.equal(await renderer.code("x".repeat(limits.code + 1), "go"), undefined);
  assert.equal(e.asked.length, 0);
  const hangs = renderer.markdown("hang"), waits = renderer.markdown("after");
  e.expire();
  assert.equal(await hangs, undefined);
  assert.equal(await waits, "<p>after</p>");
  assert.deepEqual(e.counts(), { started: 2, ended: 1 });
  assert.equal(await renderer.markdown("hang"), undefined, "what was too much once is not tried again");
  assert.equal(e.asked.filter((r) => r.text === "hang").length, 1);
});

test("a result that is too much for the page stays plain, also when the worker says otherwise", async () => {
  assert.ok(!fits("<p>".repeat(2 * limits.tags + 1)) && !fits("x".repeat(limits.html + 1)) && fits("<p>x</p>"));
  const renderer = createRenderer(engines((r) => ({ id: r.id, html: "<b>".repeat(10 * limits.tags) })).env);
  assert.equal(await renderer.markdown("x"), undefined);
});

test("equal requests are one, old ones are forgotten, and a long queue drops its beginning", async () => {
  const e = engines((r) => ({ id: r.id, html: "x".repeat(1000) }));
  const renderer = createRenderer(e.env);
  const [a, b] = await Promise.all([renderer.markdown("same"), renderer.markdown("same")]);
  assert.equal(a, b);
  assert.equal(e.asked.length, 1);
  const many = await Promise.all(Array.from({ length: limits.queued + 50 }, (_, i) => renderer.markdown("n" + i)));
  assert.equal(many.filter((x) => x === undefined).length, 49);
  assert.notEqual(await renderer.markdown("n5"), undefined, "what was dropped is rendered when it is asked for again");
  const long = "y".repeat(100 << 10);
  for (let i = 0; i < 60; i++) await renderer.markdown(i + long);
  const before = e.asked.length;
  await renderer.markdown("same");
  assert.equal(e.asked.length, before + 1, "the cache has an end");
});
