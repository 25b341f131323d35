// The modules of an extension. They run where its code runs and can be tampered with by it: what must hold is checked by
// the functions it is given.
import { BRIDGED_FETCH, REMOVED_GLOBALS } from "../../sandbox/harness-source.ts";
import { parseCode } from "../../sandbox/parse-code.ts";
import { SPIN_GUARD_MODULE, SPIN_GUARD_SOURCE, spinGuardOf, withTextEdits } from "../../sandbox/spin-guard.ts";
import { byteLength } from "../../util/bytes.ts";
import { ExtensionError } from "./errors.ts";

/** Bytes of a source. */
export const MAX_SOURCE_BYTES = 256 * 1024;
export const FORMAT =
  "Invalid extension source format: an object with tools or hooks is expected, ({ tools: { name: { description, parameters, execute } } }).";

/** Throws ExtensionError with line and column. */
export async function extensionModules(name: string, source: string): Promise<Record<string, string>> {
  if (byteLength(source) > MAX_SOURCE_BYTES)
    throw new ExtensionError(`The source of "${name}" has more than ${MAX_SOURCE_BYTES} bytes.`);
  // Bare braces are a block to the parser.
  const given = /^\s*\{/.test(source) ? `(${source})` : source;
  const parsed = await parseCode(given);
  if (!parsed.ok) throw new ExtensionError(`The source of "${name}" cannot be read. ${parsed.error}`);
  const { text, program } = parsed.value;
  const [only, ...more] = program.body;
  const isObject = only?.type === "ExpressionStatement" && only.expression.type === "ObjectExpression";
  if (!isObject || more.length > 0) throw new ExtensionError(FORMAT);
  const { importLine, edits } = spinGuardOf(text, program);
  const { start, end } = only.expression;
  const inside = edits.map((edit) => ({ ...edit, at: edit.at - start }));
  const expression = withTextEdits(text.slice(start, end), inside);
  return {
    "main.js": HARNESS,
    "source.js": `${importLine}\nexport default (() => (${expression}));\n`,
    [SPIN_GUARD_MODULE]: SPIN_GUARD_SOURCE
  };
}

const HARNESS = `import { WorkerEntrypoint } from "cloudflare:workers";
import { start, end } from "./guard.js";
import source from "./source.js";

${REMOVED_GLOBALS}
${BRIDGED_FETCH}
removeGlobals();
let loaded;
const definition = () => (loaded ??= source());

// A hook is a function, or { batch: true, handler } which is given a list.
function handlerOf(name) {
  const hook = definition().hooks?.[name];
  if (typeof hook === "function") return { handler: (...args) => definition().hooks[name](...args), isBatch: false };
  if (typeof hook?.handler === "function") return { handler: (...args) => hook.handler(...args), isBatch: hook.batch === true };
  return undefined;
}

// Refused here already: thousands of calls at once would keep the other side busy with refusing them.
function hostOf(functions) {
  const { names, maxCalls } = functions;
  if (names.length === 0) return null;
  const host = {};
  let calls = 0;
  for (const name of names) host[name] = async (...args) => {
    calls += 1;
    if (calls > maxCalls) throw new Error("Extension error: at most " + maxCalls + " calls are answered.");
    const { error, value } = await functions.call(name, args);
    if (error !== undefined) throw new Error(error);
    return value;
  };
  return host;
}

function openFetch(functions) {
  if (!functions.hasNetwork) return;
  globalThis.fetch = bridgedFetch(async (url, options) => {
    const { error, value } = await functions.call("fetch", [url, options]);
    if (error !== undefined) throw new TypeError(error);
    return value;
  });
}

async function answered(work) {
  start();
  try { return { value: await work() }; }
  catch (error) { return { error: String(error?.message ?? error), name: String(error?.name ?? "Error") }; }
  finally { end(); }
}

export default class extends WorkerEntrypoint {
  describe() {
    return answered(() => {
      const { tools, hooks, context } = definition();
      const isMap = (value) => typeof value === "object" && value !== null;
      if (!isMap(tools) && !isMap(hooks)) return null;
      const methods = ["get", "load", "search", "set"];
      return JSON.stringify({
        tools: Object.entries(tools ?? {}).map(([name, tool]) => ({
          name,
          description: typeof tool?.description === "string" ? tool.description : name,
          schema: tool?.inputSchema ?? { type: "object", properties: tool?.parameters ?? {}, required: tool?.required ?? [] },
          isRunnable: typeof tool?.execute === "function"
        })),
        hooks: Object.keys(hooks ?? {}).filter((name) => handlerOf(name) !== undefined),
        context: Object.entries(context ?? {}).map(([label, block]) => ({
          label,
          methods: methods.filter((method) => typeof block?.[method] === "function")
        }))
      });
    });
  }
  call(name, args, functions) {
    return answered(async () => {
      openFetch(functions);
      const value = await definition().tools[name].execute(JSON.parse(args), hostOf(functions));
      return JSON.stringify(value);
    });
  }
  hook(name, snapshots, functions) {
    return answered(async () => {
      openFetch(functions);
      const { handler, isBatch } = handlerOf(name);
      const given = JSON.parse(snapshots);
      const host = hostOf(functions);
      if (isBatch) return JSON.stringify(await handler(given, host));
      let value;
      for (const snapshot of given) value = await handler(snapshot, host);
      return JSON.stringify(value);
    });
  }
  context(label, method, args, functions) {
    return answered(async () => {
      openFetch(functions);
      return JSON.stringify(await definition().context[label][method](...JSON.parse(args), hostOf(functions)));
    });
  }
}
`;
