import { test } from "node:test";
import assert from "node:assert/strict";
import { contractVersion, paths } from "../src/contract";

test("the contract has the version and the three paths", () => {
  assert.equal(contractVersion, 1);
  assert.deepEqual(Object.keys(paths).sort(), ["command", "session", "stream"]);
});
