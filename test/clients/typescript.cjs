// Runs agent_run with one of the TypeScript clients and prints the last agent_status.
//
//	node typescript.cjs PACKAGES 1|2 legacy|modern stdio|http REQUEST TARGET...
//
// PACKAGES is the directory that scripts/npm-tools printed; TARGET is a URL, or a program with its arguments.
"use strict";
const { createRequire } = require("node:module");
const { setTimeout: sleep } = require("node:timers/promises");

async function main([packages, major, era, transport, request, ...target]) {
  const load = createRequire(packages + "/package.json");
  const sdk = major === "1"
    ? { ...load("@modelcontextprotocol/sdk/client/index.js"), ...load("@modelcontextprotocol/sdk/client/stdio.js"), ...load("@modelcontextprotocol/sdk/client/streamableHttp.js") }
    : { ...load("@modelcontextprotocol/client"), ...load("@modelcontextprotocol/client/stdio") };
  const options = era === "modern" ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {};
  const client = new sdk.Client({ name: "sekisho-clients", version: "1" }, options);
  const [command, ...args] = target;
  await client.connect(transport === "http"
    ? new sdk.StreamableHTTPClientTransport(new URL(command))
    : new sdk.StdioClientTransport({ command, args, env: { ...process.env }, stderr: "inherit" }));
  const { tools } = await client.listTools();
  const names = tools.map(t => t.name).join(" ");
  if (names !== "agent_run agent_status") throw new Error("tools: " + names);
  const call = async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    if (result.isError || result.content.length !== 1) throw new Error(name + ": " + JSON.stringify(result));
    return result.content[0].text;
  };
  const task = /^task_id: (.*)$/m.exec(await call("agent_run", { request }))[1];
  for (;;) {
    const text = await call("agent_status", { task_id: task });
    const status = /^status: (.*)$/m.exec(text)[1];
    if (["completed", "failed", "cancelled"].includes(status)) {
      console.log(text);
      break;
    }
    await sleep(100);
  }
  await client.close();
}

main(process.argv.slice(2)).then(() => process.exit(0), e => { console.error(e); process.exit(1); });
