// The module that runs a script. It runs where the script runs, and the script can change it: the agent checks again what
// must hold.
import { BRIDGED_FETCH, CAPTURED_CONSOLE } from "../../../sandbox/harness-source.ts";
import { MAX_PRINTED_BYTES } from "./limits.ts";

/** Makes the module. `spinMs` is how long the script may run without a break. */
export function makeHarness(entry: string, spinMs: number): string {
  return `
import { WorkerEntrypoint } from "cloudflare:workers";
import { start, end } from "./guard.js";

${CAPTURED_CONSOLE}
${BRIDGED_FETCH}

export default class extends WorkerEntrypoint {
  async run(payload, functions) {
    start(${spinMs});
    const host = new Proxy(functions, {
      get: (own, name) => async (...args) => {
        const { error, value } = await own[name](...args);
        if (error !== undefined) throw new Error(error);
        return value;
      }
    });
    const logs = [];
    globalThis.console = capturedConsole(logs, { maxLines: Infinity, maxChars: ${MAX_PRINTED_BYTES} });
    if (payload.hasNetwork) globalThis.fetch = bridgedFetch((url, options) => host.fetch(url, options));
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
