// Pieces of the modules that run code inside an isolate, as JavaScript. They can be tampered with by the code: what must
// hold is checked by the functions that the isolate is given.

/** `removeGlobals()` takes away what reaches out of the isolate. */
export const REMOVED_GLOBALS = `
const GONE = ["fetch", "WebSocket", "EventSource", "caches", "navigator", "Cloudflare", "connect", "process", "require"];
function removeGlobals() {
  for (const name of GONE) for (let at = globalThis; at; at = Object.getPrototypeOf(at)) delete at[name];
}`;

/** `capturedConsole(logs, { maxLines, maxChars })` is a console whose lines are pushed to `logs`. */
export const CAPTURED_CONSOLE = `
function show(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack ?? value.message;
  try { return JSON.stringify(value) ?? String(value); } catch { return String(value); }
}
function capturedConsole(logs, { maxLines, maxChars }) {
  let printed = 0;
  const print = (prefix) => (...values) => {
    if (logs.length >= maxLines || printed > maxChars) return;
    const line = prefix + values.map(show).join(" ");
    printed += line.length + 1;
    logs.push(printed > maxChars ? line.slice(0, 200) + " [further output is cut]" : line);
  };
  const [log, warn, error] = [print(""), print("[warn] "), print("[error] ")];
  return { log, info: log, debug: log, trace: log, dir: log, table: log, warn, error, assert: () => {} };
}`;

/** `bridgedFetch(send)` is a `fetch` over `send(url, { method, headers, body })`, which answers status, headers and body. */
export const BRIDGED_FETCH = `
function bridgedFetch(send) {
  return async (input, init) => {
    const request = new Request(input, init);
    const { url, method, headers } = request;
    const body = method === "GET" || method === "HEAD" ? undefined : await request.text();
    const answer = await send(url, { method, headers: Object.fromEntries(headers), body });
    const isEmpty = [101, 204, 205, 304].includes(answer.status);
    return new Response(isEmpty ? null : answer.body, { status: answer.status, headers: answer.headers });
  };
}`;
