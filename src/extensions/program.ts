// The modules of an extension. They run where its code runs and can be tampered with by it: what must hold is checked by
// the functions it is given.
import { BRIDGED_FETCH, REMOVED_GLOBALS } from "../sandbox/harness-source.ts";
import { parseCode } from "../sandbox/parse-code.ts";
import { SPIN_GUARD_MODULE, SPIN_GUARD_SOURCE, spinGuardOf, withTextEdits } from "../sandbox/spin-guard.ts";
import { byteLength } from "../util/bytes.ts";
import { ExtensionError } from "./errors.ts";

/** Bytes of a source. */
export const MAX_SOURCE_BYTES = 256 * 1024;
export const FORMAT =
  "Invalid extension source format: an object with tools is expected, ({ tools: { name: { description, parameters, execute } } }).";

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

function hostOf(functions) {
  const names = functions.names;
  if (names.length === 0) return null;
  const host = {};
  for (const name of names) host[name] = async (...args) => {
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
      const { tools } = definition();
      if (typeof tools !== "object" || tools === null) return null;
      return Object.entries(tools).map(([name, tool]) => ({
        name,
        description: typeof tool?.description === "string" ? tool.description : name,
        schema: tool?.inputSchema ?? { type: "object", properties: tool?.parameters ?? {}, required: tool?.required ?? [] },
        isRunnable: typeof tool?.execute === "function"
      }));
    }).then((answer) => JSON.parse(JSON.stringify(answer)));
  }
  call(name, args, functions) {
    return answered(async () => {
      openFetch(functions);
      const value = await definition().tools[name].execute(JSON.parse(args), hostOf(functions));
      return JSON.stringify(value);
    });
  }
}
`;
