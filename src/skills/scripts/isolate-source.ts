// The module that runs a script. It runs where the script runs and can be tampered with by it: what must hold is checked
// again by the agent.
import { MAX_PRINTED_BYTES } from "./limits.ts";

export function harnessSource(entry: string): string {
  return `
import { WorkerEntrypoint } from "cloudflare:workers";
import { start, end } from "./guard.js";

function show(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack ?? value.message;
  try { return JSON.stringify(value) ?? String(value); } catch { return String(value); }
}

export default class extends WorkerEntrypoint {
  async run(payload, functions) {
    start();
    const host = new Proxy(functions, {
      get: (own, name) => async (...args) => {
        const { error, value } = await own[name](...args);
        if (error !== undefined) throw new Error(error);
        return value;
      }
    });
    const logs = [];
    let printed = 0;
    const print = (prefix) => (...values) => {
      if (printed > ${MAX_PRINTED_BYTES}) return;
      const line = prefix + values.map(show).join(" ");
      printed += line.length + 1;
      logs.push(printed > ${MAX_PRINTED_BYTES} ? line.slice(0, 200) + " [further output is cut]" : line);
    };
    const [log, warn, error] = [print(""), print("[warn] "), print("[error] ")];
    globalThis.console = { log, info: log, debug: log, trace: log, dir: log, table: log, warn, error, assert: () => {} };
    if (payload.hasNetwork) globalThis.fetch = async (input, init) => {
      const request = new Request(input, init);
      const { url, method, headers } = request;
      const body = method === "GET" || method === "HEAD" ? undefined : await request.text();
      const answer = await host.fetch(url, { method, headers: Object.fromEntries(headers), body });
      const isEmpty = [101, 204, 205, 304].includes(answer.status);
      return new Response(isEmpty ? null : answer.body, { status: answer.status, headers: answer.headers });
    };
    const call = (name, input = {}) => host.tool(name, input);
    const tools = new Proxy({ call }, {
      get: (own, name) => name === "call" ? call : typeof name === "string" && name !== "then" ? (input) => call(name, input) : own[name]
    });
    const ctx = {
      skill: payload.skill,
      files: payload.files,
      workspace: {
        readFile: (path) => host.readFile(path),
        listFiles: (path = ".") => host.listFiles(path),
        glob: (pattern) => host.glob(pattern),
        stat: (path) => host.stat(path),
        writeFile: (path, content) => host.writeFile(path, content)
      },
      tools,
      output: { writeFile: (name, content) => host.writeOutput(name, content) }
    };
    try {
      const module = await import("./${entry}");
      if (typeof module.default !== "function") throw new Error("The default export of the script is not a function: export default function run(input, ctx) { … }");
      const value = await module.default(payload.input, ctx);
      return { json: JSON.stringify(value), logs };
    } catch (thrown) {
      return { error: thrown instanceof Error ? thrown.message : String(thrown), logs };
    } finally {
      end();
    }
  }
}
`;
}
