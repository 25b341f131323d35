// Code that is run once in an isolate, with functions it can call: no log, no approvals, no agent.
import { beforeDeadline } from "../../../host/deadline.ts";
import { realTime } from "../../../host/real-time.ts";
import { errorMessage } from "../../../util/errors.ts";
import { isObject } from "../../../util/json.ts";
import { runnableCode } from "../normalize.ts";
import { isolateRunner, type PassFunctions } from "../runner.ts";
import type { IsolateLoader } from "../../../sandbox/isolate.ts";

const DEFAULT_TIMEOUT_MS = 30_000;
/** Calls of one run. */
const MAX_CALLS = 1_000;

export interface DynamicWorkerExecutorOptions {
  /** The `worker_loaders` binding. */
  readonly loader: IsolateLoader;
  /** Milliseconds of one pass; 30,000 by default. */
  readonly timeout?: number;
  /** Where requests of the code go. Nothing, or null: nowhere. */
  readonly globalOutbound?: object | null;
}

/** Functions that code finds under a name. */
export interface ExecutorProvider {
  readonly name: string;
  readonly fns: PassFunctions;
}

export interface ExecutorResult {
  readonly result: unknown;
  readonly error?: string;
  readonly logs?: string[];
}

export async function executeOnce(
  code: string,
  given: readonly ExecutorProvider[] | PassFunctions,
  { loader, timeout = DEFAULT_TIMEOUT_MS, globalOutbound }: DynamicWorkerExecutorOptions
): Promise<ExecutorResult> {
  const parsed = await runnableCode(code);
  if (!parsed.ok) return { result: undefined, error: parsed.error };
  const providers = isList(given) ? given : [{ name: "tools", fns: given }];
  const calls = new OpenCalls(providers);
  const connectors = providers.map(({ name, fns }) => ({ name, methods: Object.keys(fns) }));
  const program = { code: parsed.value, connectors: connectors.map(({ name }) => name), snippets: new Map() };
  const runner = isolateRunner({ loader, cpuMs: timeout, outbound: globalOutbound ?? null });
  const { ended, dispose } = runner.start(program, { connectors, missing: {} }, calls.functions());
  try {
    const late = () => new Error(`Execution timed out after ${timeout} ms.`);
    return resultOf(await beforeDeadline(ended, { clock: realTime, timeoutMs: timeout, late }));
  } catch (error) {
    return { result: undefined, error: errorMessage(error) };
  } finally {
    calls.end();
    dispose();
  }
}

function isList(given: readonly ExecutorProvider[] | PassFunctions): given is readonly ExecutorProvider[] {
  return Array.isArray(given);
}

/** What an isolate returned is untrusted. */
function resultOf(returned: unknown): ExecutorResult {
  const { value, error, logs } = isObject(returned) ? returned : {};
  const printed = Array.isArray(logs) ? logs.filter((line) => typeof line === "string") : [];
  const message = isObject(error) ? String(error["message"]) : undefined;
  return {
    result: value,
    error: message,
    logs: printed.length > 0 ? printed : undefined
  };
}

/** The calls of one run, refused when it is over. */
class OpenCalls {
  readonly #providers: readonly ExecutorProvider[];
  #order = 0;
  #isOver = false;

  constructor(providers: readonly ExecutorProvider[]) {
    this.#providers = providers;
  }

  end(): void {
    this.#isOver = true;
  }

  functions(): PassFunctions {
    const unavailable = async () => ({ error: { name: "Error", message: "There is no log here." } });
    return {
      call: (asked) => this.#call(isObject(asked) ? asked : {}),
      // Nothing is repeated: a step is its work.
      step: async () => ({ run: true }),
      stepDone: async (done) => this.#answer(isObject(done) ? done : {}),
      search: unavailable,
      describe: unavailable
    };
  }

  async #call({ seq, connector, method, args }: Record<string, unknown>): Promise<object> {
    const fns = this.#providers.find(({ name }) => name === connector)?.fns;
    const name = String(method);
    if (this.#isOver || !(Number(seq) < MAX_CALLS) || !fns || !Object.hasOwn(fns, name))
      return { refused: this.#isOver ? "The run is over." : `${String(connector)}.${name} cannot be called.` };
    try {
      return this.#answer({ value: await fns[name]?.(args) });
    } catch (error) {
      return this.#answer({ error: errorMessage(error) });
    }
  }

  #answer({ value, error }: Record<string, unknown>): object {
    const order = this.#order++;
    return error === undefined ? { value, order } : { error: { name: "Error", message: String(error) }, order };
  }
}
