// The model's tool for running code, and the handle on its runs. What runs them joins the agent with the tool.
import { jsonSchema, tool, type Tool, type ToolSet } from "ai";
import { currentContext } from "../../agent/context.ts";
import type { IsolateLoader } from "../../sandbox/isolate.ts";
import { FEATURE } from "../../feature/feature.ts";
import { servicesOf } from "../../feature/services.ts";
import { isObject } from "../../util/json.ts";
import type { WorkspaceFsLike } from "../workspace/workspace-like.ts";
import type { CodemodeConnector } from "./codemode/codemode-connector.ts";
import type { Connector, OpenConnector } from "./connector.ts";
import { ToolSetConnector } from "./tool-set-connector.ts";
import { declarationOf } from "./catalog.ts";
import { ExecuteDefinitionError } from "./errors.ts";
import type { ExecutionDecision } from "./execution-approvals.ts";
import { DEFAULT_PAUSED_TTL_MS } from "./executions.ts";
import {
  DEFAULT_MAX_EXECUTIONS,
  MAX_SNIPPETS,
  type Execution,
  type LogEntry,
  type Snippet
} from "./execution-store.ts";
import { DEFINITION, findExecutions, openExecute, type OpenExecutions, type UnboundDefinition } from "./feature.ts";
import type { ExecutionOutcome, PendingCall } from "./outcome.ts";
import { executorRunner, isolateRunner, type CodeExecutor } from "./runner.ts";
import { isFileSystem, StateConnector } from "./state-connector.ts";

const DEFAULT_TIMEOUT_MS = 30_000;
const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

export interface CreateExecuteToolOptions {
  /** AI SDK tools, as `tools.*`. */
  readonly tools?: ToolSet;
  /** Files, as `state.*`; those of the agent if it is given one. */
  readonly state?: WorkspaceFsLike;
  /** Further namespaces. */
  readonly connectors?: readonly (Connector | CodemodeConnector)[];
  /** Runs the code in place of isolates of the loader. */
  readonly executor?: CodeExecutor;
  /** The `worker_loaders` binding; `env.LOADER` of an agent. */
  readonly loader?: IsolateLoader;
  /** Milliseconds of one pass, without what it repeats of the log; 30,000 by default. */
  readonly timeout?: number;
  /** Where requests of the code go. Nothing, or null: nowhere. */
  readonly globalOutbound?: object | null;
  /** In place of the generated one. */
  readonly description?: string;
  /** The identity of the runtime in the agent's storage; "execute" by default. */
  readonly name?: string;
  /** How long a run waits for a human; 24 hours by default. False: for ever. */
  readonly pausedTtlMs?: number | false;
  /** Ended runs that are kept; 50 by default. */
  readonly maxExecutions?: number;
  /** What the model is shown of a result, in place of its first 24,000 characters. The record keeps the result. */
  readonly transformResult?: (result: unknown) => unknown;
  /** The Durable Object's state. Not needed: the agent that runs the tool is known. */
  readonly ctx?: object;
}

/** An agent as the source of a tool: its `env.LOADER` and its files. */
export interface ExecuteToolAgent {
  readonly workspace?: unknown;
  codemode?: object | undefined;
}

export interface ExecuteInput {
  code: string;
}

/** The handle on the runs of an agent. */
export interface ExecuteRuntime {
  readonly name: string;
  /** The model's tool. */
  tool(options?: { description?: string }): Tool<ExecuteInput, ExecutionOutcome>;
  /** Calls that wait. */
  pending(executionId?: string): PendingCall[];
  approve(decision: { executionId: string } & ExecutionDecision): Promise<ExecutionOutcome>;
  /** Whether it ended the run. */
  reject(decision: { executionId: string } & ExecutionDecision): Promise<boolean>;
  /** Undoes applied calls, newest first, as far as their tools can. Throws RollbackError after all were tried. */
  rollback(of: { executionId: string }): Promise<string[]>;
  /** Ends runs that waited or ran longer than that; 24 hours by default. */
  expirePaused(options?: { maxAgeMs?: number }): string[];
  /** Newest first, each with its log. */
  executions(limit?: number): (Execution & { readonly log: LogEntry[] })[];
  deleteExecution(executionId: string): Promise<boolean>;
  /** Deletes ended runs beyond the newest `keep`. */
  pruneExecutions(keep?: number): string[];
  /** Keeps the code of a run under a name, for `codemode.run(name, input)`. */
  saveSnippet(name: string, of: { executionId: string; description?: string; inputSchema?: unknown }): void;
  snippets(): Snippet[];
  deleteSnippet(name: string): boolean;
}

/**
 * A tool with which the model runs JavaScript or TypeScript in an isolate that can call the given tools and files, and
 * nothing else. A call that needs an approval pauses the run, over restarts; it goes on when a human has decided.
 *
 * @example
 * getTools() {
 *   return { execute: createExecuteTool(this, { tools: { add, deploy } }) };
 * }
 */
export function createExecuteTool(
  source: ExecuteToolAgent | CreateExecuteToolOptions,
  overrides: CreateExecuteToolOptions = {}
): Tool<ExecuteInput, ExecutionOutcome> {
  return createExecuteRuntime(source, overrides).tool;
}

/**
 * The same with a handle on the runs: approvals, rollback, snippets.
 *
 * @example
 * const { runtime, tool } = createExecuteRuntime(this, { tools: { deploy } });
 */
export function createExecuteRuntime(
  source: ExecuteToolAgent | CreateExecuteToolOptions,
  overrides: CreateExecuteToolOptions = {}
): { runtime: ExecuteRuntime; connectors: readonly Connector[]; tool: Tool<ExecuteInput, ExecutionOutcome> } {
  const agent = isAgent(source) ? source : undefined;
  const options = { ...(agent ? optionsOf(agent) : (source as CreateExecuteToolOptions)), ...overrides };
  const definition = definitionOf(options, agent !== undefined);
  const runtime = new RuntimeHandle(definition, { agent, description: options.description });
  if (agent) agent.codemode = runtime;
  return { runtime, connectors: connectorsOf(definition), tool: runtime.tool() };
}

function connectorsOf({ tools, connectors }: UnboundDefinition): Connector[] {
  return [...(tools ? [new ToolSetConnector(tools)] : []), ...connectors];
}

function isAgent(source: object): source is ExecuteToolAgent {
  return "env" in source && !("loader" in source) && !("executor" in source);
}

function optionsOf(agent: ExecuteToolAgent): CreateExecuteToolOptions {
  const { workspace } = agent;
  // Protected in the class.
  const env: unknown = Reflect.get(agent, "env");
  const loader = isObject(env) ? env["LOADER"] : undefined;
  return {
    // A binding of that name is a loader: the platform has no other way to say so.
    loader: loader !== undefined ? (loader as IsolateLoader) : undefined,
    state: isFileSystem(workspace) ? workspace : undefined
  };
}

function definitionOf(options: CreateExecuteToolOptions, isOfAgent: boolean): UnboundDefinition {
  const { tools, state, loader, executor, name = "execute" } = options;
  // A class of ours has all that a connector has; only its subclasses may call some of it protected.
  const connectors = (options.connectors ?? []) as readonly Connector[];
  const timeoutMs = options.timeout ?? DEFAULT_TIMEOUT_MS;
  const outbound = options.globalOutbound ?? null;
  const runner = executor ? executorRunner(executor) : loader && isolateRunner({ loader, cpuMs: timeoutMs, outbound });
  if (!runner) {
    throw new ExecuteDefinitionError(
      isOfAgent
        ? "The agent has no LOADER binding to run code with."
        : "createExecuteTool needs a loader, or an executor, to run code with.",
      'Add "worker_loaders": [{ "binding": "LOADER" }] to the Wrangler configuration.'
    );
  }
  if (!NAME.test(name)) throw new ExecuteDefinitionError(`"${name}" cannot be the name of a runtime.`);
  const all = [...(state ? [new StateConnector(state)] : []), ...connectors];
  if (tools === undefined && all.length === 0)
    throw new ExecuteDefinitionError("There is nothing that code could call: give tools, state or connectors.");
  return {
    name,
    runner,
    tools,
    connectors: all,
    timeoutMs,
    pausedTtlMs: options.pausedTtlMs ?? DEFAULT_PAUSED_TTL_MS,
    maxExecutions: options.maxExecutions ?? DEFAULT_MAX_EXECUTIONS,
    transformResult: options.transformResult
  };
}

/** What is used of what the SDK gives a tool. */
interface ToolCallOptions {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal | undefined;
}

class RuntimeHandle implements ExecuteRuntime {
  readonly [FEATURE] = openExecute;
  readonly [DEFINITION]: UnboundDefinition;
  readonly #agent: object | undefined;
  readonly #description: string | undefined;

  constructor(
    definition: UnboundDefinition,
    { agent, description }: { agent: object | undefined; description: string | undefined }
  ) {
    this[DEFINITION] = definition;
    this.#agent = agent;
    this.#description = description;
  }

  get name(): string {
    return this[DEFINITION].name;
  }

  tool(options: { description?: string } = {}): Tool<ExecuteInput, ExecutionOutcome> {
    const made = tool({
      description: options.description ?? this.#description ?? executeDescription(connectorsOf(this[DEFINITION])),
      inputSchema: jsonSchema<ExecuteInput>(
        {
          type: "object",
          properties: {
            code: { type: "string", description: "JavaScript or TypeScript; the last expression is the result" }
          },
          required: ["code"],
          additionalProperties: false
        },
        { validate: checkedInput }
      ),
      // User code may call it by itself, with nothing but the code.
      execute: async ({ code }: ExecuteInput, options: Partial<ToolCallOptions> = {}) => {
        const { toolCallId = `own-${crypto.randomUUID()}`, abortSignal: signal = new AbortController().signal } =
          options;
        const { executions } = this.#open();
        return executions.shown(
          { runtime: this.name },
          await executions.execute(this.name, code, { toolCallId, signal })
        );
      }
    });
    return Object.assign(made, { [FEATURE]: openExecute, [DEFINITION]: this[DEFINITION] }) as Tool<
      ExecuteInput,
      ExecutionOutcome
    >;
  }

  /** Of the agent it was made for, or of the one that is running. */
  #open(): OpenExecutions {
    const agent = this.#agent ?? currentContext().agent;
    if (!agent) throw new ExecuteDefinitionError("Code can only be executed by an agent: no agent is running.");
    servicesOf(agent).features.adopt([this]);
    const open = findExecutions(agent);
    if (!open) throw new ExecuteDefinitionError("Code execution could not be opened; the log says why.");
    return open;
  }

  pending(executionId?: string): PendingCall[] {
    return this.#open().approvals.pendingExecutions(executionId);
  }

  approve({ executionId, ...decision }: { executionId: string } & ExecutionDecision): Promise<ExecutionOutcome> {
    return this.#decide(executionId, { ...decision, isApproved: true });
  }

  async reject({ executionId, ...decision }: { executionId: string } & ExecutionDecision): Promise<boolean> {
    return (await this.#decide(executionId, { ...decision, isApproved: false })).status === "rejected";
  }

  #decide(
    executionId: string,
    { args, input = args, ...decision }: ExecutionDecision & { isApproved: boolean }
  ): Promise<ExecutionOutcome> {
    const origin = currentContext().connection ?? decision.origin;
    return this.#open().approvals.decide(executionId, { ...decision, input, origin });
  }

  rollback({ executionId }: { executionId: string }): Promise<string[]> {
    return this.#open().executions.rollback(executionId);
  }

  expirePaused({ maxAgeMs = DEFAULT_PAUSED_TTL_MS }: { maxAgeMs?: number } = {}): string[] {
    return this.#open().executions.expirePaused(maxAgeMs);
  }

  executions(limit = DEFAULT_MAX_EXECUTIONS): (Execution & { readonly log: LogEntry[] })[] {
    const { store } = this.#open().executions;
    return store.list(limit).map((one) => ({ ...one, log: store.log(one.id) }));
  }

  deleteExecution(executionId: string): Promise<boolean> {
    return this.#open().executions.delete(executionId);
  }

  pruneExecutions(keep = DEFAULT_MAX_EXECUTIONS): string[] {
    return this.#open().executions.store.prune(keep);
  }

  saveSnippet(name: string, of: { executionId: string; description?: string; inputSchema?: unknown }): void {
    const { store } = this.#open().executions;
    const execution = store.find(of.executionId);
    if (!execution) throw new ExecuteDefinitionError(`There is no execution ${of.executionId} to make a snippet of.`);
    if (!NAME.test(name)) throw new ExecuteDefinitionError(`"${name}" cannot be the name of a snippet.`);
    const others = store.snippets().filter((one) => one.name !== name);
    if (others.length >= MAX_SNIPPETS) throw new ExecuteDefinitionError(`At most ${MAX_SNIPPETS} snippets are kept.`);
    const { description: text, inputSchema } = of;
    const { code, connectors } = execution;
    store.saveSnippet({ name, description: text, inputSchema, code, connectors });
  }

  snippets(): Snippet[] {
    return this.#open().executions.store.snippets();
  }

  deleteSnippet(name: string): boolean {
    return this.#open().executions.store.deleteSnippet(name);
  }
}

function checkedInput(value: unknown) {
  return isObject(value) && typeof value["code"] === "string"
    ? { success: true as const, value: { code: value["code"] } }
    : { success: false as const, error: new TypeError('"code" must be a text.') };
}

// ── What the model reads about the tool. Pure. ──

/** Characters of declarations; what does not fit is found by search. */
const MAX_DESCRIBED_CHARS = 8_000;

/** Declares what code can call as far as it fits, and hints at the rest, which the model finds by search. */
function executeDescription(connectors: readonly Connector[]): string {
  const names = [...connectors.map((one) => one.name()), "codemode"].join(", ");
  return [
    "Runs JavaScript or TypeScript in a sandbox and returns the value of the last expression. Use it to call several tools in one go.",
    `The only globals besides standard JavaScript are: ${names}. There is no fetch, no import, no file system but these. Each method takes one object and returns a promise: await it.`,
    "codemode.search(query) finds methods, codemode.describe(path) shows their types, codemode.run(name, input) runs a saved snippet.",
    "A call that needs an approval pauses the run, which goes on by itself when a human has decided: do not send the code again. The code is then run again from the top with the recorded results, so wrap what differs each time in codemode.step(name, () => Math.random()).",
    ...describedConnectors(connectors)
  ].join("\n");
}

/** In their order: a connector is declared if all of it fits into what is left. */
function describedConnectors(connectors: readonly Connector[]): string[] {
  let left = MAX_DESCRIBED_CHARS;
  return connectors.map((source) => {
    const hint = source.instructions?.();
    const open = openNow(source);
    if (!open) return `${hint ?? `${source.name()}.*`} Its methods are found with codemode.search.`;
    const declaration = declarationOf(open);
    const text = hint === undefined ? declaration : `// ${hint}\n${declaration}`;
    if (text.length <= left) {
      left -= text.length;
      return text;
    }
    return `${hint ?? `${source.name()}.*`} It has ${open.tools.size} methods: find them with codemode.search.`;
  });
}

/** Undefined: it is not known before it is asked, as with a server. */
function openNow(source: Connector): OpenConnector | undefined {
  const tools = source.tools();
  if (tools instanceof Promise) {
    // A server that cannot be reached now is the matter of the run.
    tools.catch(() => undefined);
    return undefined;
  }
  return { name: source.name(), instructions: undefined, tools: new Map(Object.entries(tools)), source };
}
