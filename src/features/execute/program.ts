// The modules that a run is loaded with. They run where the code runs and can be tampered with by it: what must hold is
// checked by the functions of the pass. Calls are numbered here, when the code makes them, so that calls side by side get
// the same numbers in every pass; answers are delivered in the order in which they were first given.
import { CAPTURED_CONSOLE, REMOVED_GLOBALS } from "../../sandbox/harness-source.ts";
import { SPIN_GUARD_MODULE, SPIN_GUARD_SOURCE } from "../../sandbox/spin-guard.ts";
import type { RunnableCode } from "./normalize.ts";

/** Of what the code prints. */
export const MAX_LOG_LINES = 200;
export const MAX_LOG_CHARS = 16_384;

export interface ProgramInit {
  readonly code: RunnableCode;
  /** Names that the code finds besides standard JavaScript and `codemode`. */
  readonly connectors: readonly string[];
  readonly snippets: ReadonlyMap<string, RunnableCode>;
}

export function programModules({ code, connectors, snippets }: ProgramInit): Record<string, string> {
  const globals = [...connectors, "codemode", "console"].join(", ");
  const named = [...snippets].map(([name, one], index) => ({ name, file: `snippet-${index}.js`, one }));
  const imports = named.map(({ file }, index) => `import snippet${index} from "./${file}";`).join("\n");
  const table = named.map(({ name }, index) => `${JSON.stringify(name)}: snippet${index}`).join(", ");
  return {
    "main.js": `${imports}\n${MAIN.replace("/*SNIPPETS*/", () => table)}`,
    "code.js": codeModule(code, globals),
    ...Object.fromEntries(named.map(({ file, one }) => [file, codeModule(one, globals)])),
    [SPIN_GUARD_MODULE]: SPIN_GUARD_SOURCE
  };
}

/** The same as the text of one function, for what takes no modules: it finds the functions of the pass as `host`. */
export function programText({ code, connectors, snippets }: ProgramInit, payload: object, host: string): string {
  const globals = [...connectors, "codemode", "console"].join(", ");
  const named = [...snippets].map(([name, one]) => `${JSON.stringify(name)}: ${inlineModule(one, globals)}`);
  // The code stands outside of what runs it, and sees none of its names.
  return `async () => {
const given = { code: ${inlineModule(code, globals)}, snippets: { __proto__: null, ${named.join(",\n")} } };
return await (async (given) => {
${SPIN_GUARD_SOURCE.replaceAll(/^export /gm, "")}
const code = given.code(tick), snippets = { __proto__: null };
for (const name in given.snippets) snippets[name] = given.snippets[name](tick);
${RUN_PASS}
return await runPass(${JSON.stringify(payload)}, ${host});
})(given);
}`;
}

function inlineModule({ expression, importLine }: RunnableCode, globals: string): string {
  const guard = /tick as (\w+) /.exec(importLine)?.[1] ?? "tick";
  return `(${guard}) => (${globals}) => ${expression}`;
}

function codeModule({ expression, importLine }: RunnableCode, globals: string): string {
  return `${importLine}\nexport default (${globals}) => ${expression};\n`;
}

/** Runs `code`, which it finds beside `snippets`, `start` and `end`, with the functions of a pass. */
const RUN_PASS = `
const later = setTimeout;
${CAPTURED_CONSOLE}

class ExecutionPaused extends Error {
  constructor() {
    super("The execution is paused until a human has decided.");
    this.name = "ExecutionPaused";
  }
}

function thrown({ name, message }) {
  const error = new Error(message);
  if (name) error.name = name;
  return error;
}

class Calls {
  #host; #seq = 0; #batch = 0; #next = 0; #open = 0; #isBusy = false; #waiting = new Map(); #onStuck;
  constructor(host, onStuck) { this.#host = host; this.#onStuck = onStuck; }

  call(connector, method, args) {
    const seq = this.#seq++, batch = this.#batch;
    return this.#answered(() => this.#host.call({ seq, batch, connector, method, args }));
  }

  step(name, work) {
    const seq = this.#seq++;
    return this.#answered(async () => {
      const known = await this.#host.step({ seq, name });
      if (!known.run) return known;
      try { return await this.#host.stepDone({ seq, value: await work() }); }
      catch (error) { return await this.#host.stepDone({ seq, error: String(error?.message ?? error) }); }
    });
  }

  #answered(ask) {
    this.#open += 1;
    return new Promise((resolve, reject) => {
      const answered = (answer) => {
        this.#open -= 1;
        if (answer.paused) {
          this.#batch += 1;
          reject(new ExecutionPaused());
        }
        else if (answer.refused !== undefined) reject(new Error(answer.refused));
        else {
          const settle = answer.error ? () => reject(thrown(answer.error)) : () => resolve(answer.value);
          this.#waiting.set(answer.order, settle);
          this.#deliver();
        }
      };
      const failed = (error) => {
        this.#open -= 1;
        reject(new Error("The call could not be made: " + String(error?.message ?? error)));
      };
      try { ask().then(answered, failed); } catch (error) { failed(error); }
    });
  }

  /** In the order of the first pass; what the code does with one answer is done before it gets the next. */
  #deliver() {
    if (this.#isBusy) return;
    const settle = this.#waiting.get(this.#next);
    if (!settle) return this.#checkStuck();
    this.#waiting.delete(this.#next);
    this.#next += 1;
    this.#batch += 1;
    settle();
    if (this.#open === 0 && this.#waiting.size === 0) return;
    this.#isBusy = true;
    later(() => { this.#isBusy = false; this.#deliver(); }, 0);
  }

  #checkStuck() {
    const next = this.#next;
    const isStuck = () => this.#open === 0 && this.#waiting.size > 0 && this.#next === next;
    if (isStuck()) later(() => { if (isStuck()) this.#onStuck(); }, 50);
  }
}

async function unwrapped(answer) {
  const { error, value } = await answer;
  if (error) throw thrown(error);
  return value;
}

function connectorObject(calls, name, methods) {
  const own = { __proto__: null };
  for (const method of methods) own[method] = (args = {}) => calls.call(name, method, args);
  return new Proxy(own, {
    get: (target, key) => {
      if (key in target || typeof key !== "string" || key === "then") return target[key];
      return () => { throw new TypeError(name + "." + key + " is not a function. Use codemode.search(query) to find what there is."); };
    },
    set: () => false
  });
}

async function execute({ connectors, missing, input }, host, logs) {
  let failed;
  const stuck = new Promise((_, reject) => { failed = reject; });
  const calls = new Calls(host, () => failed(new Error("replay divergence: the code did not repeat the calls it had made")));
  const values = connectors.map(({ name, methods }) => connectorObject(calls, name, methods));
  const console = capturedConsole(logs, { maxLines: ${MAX_LOG_LINES}, maxChars: ${MAX_LOG_CHARS} });
  const codemode = {
    search: (query) => unwrapped(host.search(String(query))),
    describe: (target) => unwrapped(host.describe(String(target))),
    step: (name, work) => calls.step(String(name), work),
    run: async (name, given) => {
      if (!(name in snippets)) return { error: "There is no snippet " + JSON.stringify(name) + "." };
      if (missing[name]) return { error: missing[name] };
      return await snippets[name](...values, codemode, console)(given);
    }
  };
  Object.freeze(codemode);
  globalThis.console = console;
  const main = code(...values, codemode, console);
  return await Promise.race([main(input), stuck]);
}

/** What can be passed; a result with functions is passed without them. */
function passed(value) {
  if (typeof value === "string" && value.length > 4_000_000) return value.slice(0, 4_000_000) + "[cut]";
  try { return structuredClone(value); } catch { return JSON.parse(JSON.stringify(value) ?? "null"); }
}

async function runPass(payload, host) {
  const logs = [];
  start();
  try {
    return { value: passed(await execute(payload, host, logs)), logs };
  } catch (error) {
    const isError = error instanceof Error;
    return { error: { name: isError ? String(error.name) : "Error", message: isError ? String(error.message) : String(error) }, logs };
  } finally {
    end();
  }
}
`;

const MAIN = `import { WorkerEntrypoint } from "cloudflare:workers";
import { start, end } from "./guard.js";
import code from "./code.js";

const snippets = { __proto__: null, /*SNIPPETS*/ };
${REMOVED_GLOBALS}
${RUN_PASS}
export default class extends WorkerEntrypoint {
  async run(payload, host) {
    removeGlobals();
    return await runPass(payload, host);
  }
}
`;
