import { test } from "node:test";
import assert from "node:assert/strict";
import vectors from "../../internal/relay/ask/testdata/form.json";
import type { FieldView, Text } from "../src/contract";
import { check, content, judge } from "../src/dock/judge";
import { initial } from "../src/dock/Form";

const text = (s: string): Text => ({ lines: [s], bytes: s.length });
const field = (f: Partial<FieldView> & { kind: string }, id = "0"): FieldView => ({ id, name: text("name"), options: ["0", "1", "2"].map((o) => ({ id: o, label: text(o), description: text("") })), ...f });

// proves R-INT-04
test("values are judged as the worker judges them, by the same vectors", () => {
  assert.ok(vectors.length >= 50);
  for (const v of vectors) assert.equal(check(field(v.field as { kind: string }), v.value) ?? "", v.fault, v.name);
});

test("an empty field is left out, or a fault when it is required", () => {
  for (const kind of ["string", "number", "select", "multiselect"]) {
    assert.deepEqual(judge(field({ kind }), kind === "multiselect" ? [] : ""), { absent: true });
    assert.deepEqual(judge(field({ kind, required: true }), kind === "multiselect" ? undefined : ""), { fault: "required" });
  }
  assert.deepEqual(judge(field({ kind: "multiselect", required: true, minItems: 0 }), []), { value: [] });
  assert.deepEqual(judge(field({ kind: "boolean", required: true }), false), { value: false });
});

test("numbers are read as people write them and nothing else", () => {
  for (const [s, n] of [["12", 12], [" 1.5 ", 1.5], ["-3e2", -300], [".5", 0.5]] as const) assert.deepEqual(judge(field({ kind: "number" }), s), { value: n });
  for (const s of ["1,5", "0x10", "Infinity", "1e", "--1", "1 2", "NaN"]) assert.deepEqual(judge(field({ kind: "number" }), s), { fault: "type" }, s);
  assert.deepEqual(judge(field({ kind: "integer" }), "1.5"), { fault: "type" });
});

// proves R-INT-04
test("a form is answered whole or not at all", () => {
  const fields = [field({ kind: "string", required: true }, "0"), field({ kind: "integer" }, "1"), field({ kind: "boolean", required: true }, "2")];
  assert.deepEqual(content(fields, { ...initial(fields), "0": "x" }), { content: { "0": "x", "2": false } });
  assert.deepEqual(content(fields, { "1": "z" }), { faults: { "0": "required", "1": "type", "2": "required" } });
});

// proves R-INT-02
test("suggestions fill controls, with the types that the controls hold", () => {
  assert.deepEqual(initial([field({ kind: "number", default: 1.5 }, "0"), field({ kind: "multiselect", default: ["1"] }, "1"), field({ kind: "string" }, "2"), field({ kind: "boolean" }, "3")]), { "0": "1.5", "1": ["1"] });
});
