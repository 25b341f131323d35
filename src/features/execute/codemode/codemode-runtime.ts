// The names under which code written for `@cloudflare/codemode` finds the runtime.
import type { Connector } from "../connector.ts";
import { createExecuteRuntime, type ExecuteRuntime } from "../create-execute-tool.ts";
import { ExecuteDefinitionError } from "../errors.ts";
import type { CodeExecutor, PassFunctions } from "../runner.ts";
import type { CodemodeConnector } from "./codemode-connector.ts";
import {
  executeOnce,
  type DynamicWorkerExecutorOptions,
  type ExecutorProvider,
  type ExecutorResult
} from "./execute-once.ts";

/**
 * Runs code in isolates of a loader.
 *
 * @example
 * const executor = new DynamicWorkerExecutor({ loader: env.LOADER });
 * const { result } = await executor.execute("await math.add({ a: 1, b: 2 })", [{ name: "math", fns: { add } }]);
 */
export class DynamicWorkerExecutor implements CodeExecutor {
  readonly options: DynamicWorkerExecutorOptions;

  constructor(options: DynamicWorkerExecutorOptions) {
    if (!options.loader) {
      throw new ExecuteDefinitionError(
        "DynamicWorkerExecutor needs a loader to run code with.",
        'Add "worker_loaders": [{ "binding": "LOADER" }] to the Wrangler configuration.'
      );
    }
    this.options = options;
  }

  /** Runs code once, without a log and without approvals. Never rejects for what the code does. */
  execute(code: string, providers: readonly ExecutorProvider[] | PassFunctions): Promise<ExecutorResult> {
    return executeOnce(code, providers, this.options);
  }
}

export interface CreateCodemodeRuntimeOptions {
  readonly connectors: readonly (Connector | CodemodeConnector)[];
  readonly executor: CodeExecutor;
  /** The identity of the runtime in the agent's storage; "default" by default. */
  readonly name?: string;
  /** Ended runs that are kept; 50 by default. */
  readonly maxExecutions?: number;
  /** What the model is shown of a result. */
  readonly transformResult?: (result: unknown) => unknown;
  /** How long a run waits for a human; 24 hours by default. False: for ever. */
  readonly pausedTtlMs?: number | false;
  /** The Durable Object's state. Not needed: the agent that runs the tool is known. */
  readonly ctx?: object;
}

/**
 * A runtime for connectors: `createExecuteRuntime` with the names of `@cloudflare/codemode`.
 *
 * @example
 * const executor = new DynamicWorkerExecutor({ loader: this.env.LOADER });
 * const runtime = createCodemodeRuntime({ ctx: this.ctx, connectors: [new Orders()], executor });
 * return { codemode: runtime.tool() };
 */
export function createCodemodeRuntime(options: CreateCodemodeRuntimeOptions): ExecuteRuntime {
  const { executor, name = "default", ...rest } = options;
  if (!(executor instanceof DynamicWorkerExecutor)) return createExecuteRuntime({ ...rest, executor, name }).runtime;
  const { loader, timeout, globalOutbound } = executor.options;
  const isolates = { loader, timeout, globalOutbound };
  return createExecuteRuntime({ ...rest, ...isolates, name }).runtime;
}
