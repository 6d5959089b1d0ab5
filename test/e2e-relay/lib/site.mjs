// Somebody else's port, and who asked it.
import { createServer } from "node:http";

/** A page of somebody else on a port of its own; it may be called by any name. */
export async function site(t, html = "<!doctype html><title>other</title>", headers = {}) {
  const requests = [];
  const server = createServer((req, res) => {
    requests.push({ url: req.url, headers: req.headers, method: req.method });
    res.writeHead(200, { "Content-Type": "text/html", "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "*", ...headers });
    res.end(html);
  });
  server.on("upgrade", (req, socket) => { // asked; no socket is opened
    requests.push({ url: req.url, headers: req.headers, method: req.method });
    socket.destroy();
  });
  await new Promise((r) => server.listen(0, "127.0.0.1", r));
  t.after(() => new Promise((r) => { server.closeAllConnections(); server.close(r); }));
  return { port: server.address().port, requests };
}
