// One pass of a run: the code from its beginning, in an isolate of its own, until it ends, waits, fails or is stopped. Every
// call of the code comes here; what the log holds is answered from the log. The pass is what the isolate can reach, and
// the boundary that must hold: numbers, names and arguments come from code that is not trusted.
import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../../host/ports.ts";
import { isCount } from "../../util/counts.ts";
import { errorMessage } from "../../util/errors.ts";
import { canonicalJson, isObject } from "../../util/json.ts";
import type { Result } from "../../util/result.ts";
import type { ConnectorCatalog } from "./catalog.ts";
import type { ConnectorContext, ConnectorTool, OpenConnector } from "./connector.ts";
import type { Execution, ExecutionStore } from "./execution-store.ts";
import { decideCall, type LoggedStep } from "./log-decision.ts";
import { isCallName } from "./repair.ts";
import { MAX_LOG_CHARS, MAX_LOG_LINES, type ProgramInit } from "./program.ts";
import type { CodeRunner, PassFunctions } from "./runner.ts";
import { decodeValue, encodeValue } from "./value-codec.ts";

/** Calls of one run, steps included. */
export const MAX_CALLS = 1_000;
/** Characters of an error of a tool. */
const MAX_ERROR_CHARS = 10_000;
/** How much longer than a pass the part of it may take that only repeats the log. */
const REPLAY_FACTOR = 10;
const STEP = "codemode";

export interface PassInit {
  readonly execution: Execution;
  readonly store: ExecutionStore;
  readonly connectors: readonly OpenConnector[];
  readonly catalog: ConnectorCatalog;
  readonly validate: (schema: unknown, value: unknown) => Promise<Result<unknown, string>>;
  readonly clock: Clock;
  readonly runner: CodeRunner;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** When a call that waits expires; null: never. */
  readonly expiresAt: () => number | null;
}

/** How the code ended, before anything is written about it. */
export type PassEnd =
  | { readonly kind: "value"; readonly value: unknown; readonly logs: string[] }
  | { readonly kind: "error"; readonly error: string; readonly logs: string[] }
  | { readonly kind: "paused"; readonly logs: string[] }
  | { readonly kind: "aborted"; readonly logs: string[] };

type Answer =
  | { readonly value: unknown; readonly order: number }
  | { readonly error: { name: string; message: string }; readonly order: number }
  | { readonly paused: true }
  | { readonly refused: string };

interface Asked {
  readonly seq: number;
  readonly batch: number;
  readonly connector: string;
  readonly method: string;
  readonly args: string;
}

export interface PassProgram extends ProgramInit {
  readonly payload: object;
}

export class ExecutionPass {
  readonly #init: PassInit;
  readonly #inContext = AsyncLocalStorage.snapshot();
  readonly #running = new Set<Promise<unknown>>();
  /** Of the tools that are running. */
  readonly #stopped = new AbortController();
  /** Of what waits for the deadline. */
  readonly #over = new AbortController();
  readonly #seen = new Set<number>();
  #isOver = false;
  #pausedBatch: number | undefined;
  #failure: string | undefined;
  #order: number;
  /** Entries of the log that are still to be repeated. */
  #toReplay: number;
  readonly #replayed = Promise.withResolvers<void>();

  constructor(init: PassInit) {
    this.#init = init;
    const settled = init.store.log(init.execution.id).filter(({ order }) => order !== null);
    this.#order = settled.length;
    this.#toReplay = settled.length;
    if (settled.length === 0) this.#replayed.resolve();
  }

  async run({ payload, ...program }: PassProgram): Promise<PassEnd> {
    const { signal, runner } = this.#init;
    const stop = () => this.#stopped.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    let call: ReturnType<CodeRunner["start"]> | undefined;
    try {
      if (signal.aborted) return { kind: "aborted", logs: [] };
      call = runner.start(program, payload, this.#functions());
      // A late failure of a run that was given up is not an unhandled one.
      call.ended.catch(() => undefined);
      const returned = await Promise.race([call.ended, this.#deadline(), aborted(signal)]);
      return await this.#ended(returned);
    } catch (error) {
      return this.#failed(errorMessage(error));
    } finally {
      this.#isOver = true;
      this.#stopped.abort();
      this.#over.abort();
      signal.removeEventListener("abort", stop);
      call?.dispose();
    }
  }

  // ── The end ──

  /** Time that is spent in repeating the log does not count. */
  async #deadline(): Promise<typeof LATE> {
    const { clock, timeoutMs } = this.#init;
    const over = this.#over.signal;
    const pause = (ms: number) => clock.sleep(ms, over).catch(() => undefined);
    await Promise.race([this.#replayed.promise, pause(timeoutMs * REPLAY_FACTOR)]);
    await pause(timeoutMs);
    return LATE;
  }

  async #ended(returned: unknown): Promise<PassEnd> {
    if (returned === ABORTED) return { kind: "aborted", logs: [] };
    if (returned === LATE) {
      if (this.#pausedBatch !== undefined) return { kind: "paused", logs: [] };
      return this.#failed(`Execution timed out after ${this.#init.timeoutMs} ms.`);
    }
    const logs = logsOf(returned);
    // What was begun side by side with the call that ended the pass gets its record.
    const rest = Promise.allSettled([...this.#running]);
    if ((await Promise.race([rest, this.#deadline(), aborted(this.#init.signal)])) === ABORTED)
      return { kind: "aborted", logs };
    if (this.#failure !== undefined) return { kind: "error", error: this.#failure, logs };
    if (this.#pausedBatch !== undefined) return { kind: "paused", logs };
    if (!isObject(returned)) return { kind: "error", error: "The code returned nothing that can be read.", logs };
    const { error } = returned;
    if (error === undefined) return { kind: "value", value: returned["value"], logs };
    return { kind: "error", error: this.#errorText(error), logs };
  }

  #failed(error: string): PassEnd {
    return { kind: "error", error: this.#failure ?? error, logs: [] };
  }

  #errorText(error: unknown): string {
    const { name, message } = isObject(error) ? error : {};
    const text = String(message ?? error).slice(0, MAX_ERROR_CHARS);
    const shown = typeof name === "string" && name !== "Error" && name.length < 100 ? `${name}: ${text}` : text;
    if (!text.endsWith(" is not defined")) return shown;
    const globals = [...this.#init.connectors.map((one) => one.name), STEP].join(", ");
    return `${shown}. Available are standard JavaScript and: ${globals}.`;
  }

  // ── What the isolate can call ──

  #functions(): PassFunctions {
    const { catalog } = this.#init;
    let lookups = 0;
    const found = async (work: () => unknown) => {
      try {
        lookups += 1;
        if (this.#isOver) throw new Error(OVER);
        if (lookups > MAX_CALLS) throw new Error(`A run may search at most ${MAX_CALLS} times.`);
        return { value: work() };
      } catch (error) {
        return { error: { name: "Error", message: errorMessage(error) } };
      }
    };
    return {
      call: (asked: unknown) => this.#track(() => this.#call(isObject(asked) ? asked : {})),
      step: (asked: unknown) => this.#track(async () => this.#step(isObject(asked) ? asked : {})),
      stepDone: (done: unknown) => this.#track(async () => this.#stepDone(isObject(done) ? done : {})),
      search: (query: unknown) => found(() => catalog.search(String(query))),
      describe: (target: unknown) => found(() => catalog.describe(String(target)))
    };
  }

  /** In the agent's context: a call from an isolate comes without one. Failures are values. */
  #track(work: () => Promise<Answer | { run: true }>): Promise<Answer | { run: true }> {
    if (this.#isOver) return Promise.resolve({ refused: OVER });
    const answered = this.#inContext(work).catch((error: unknown) => {
      this.#fail(errorMessage(error));
      return { refused: errorMessage(error) };
    });
    this.#running.add(answered);
    void answered.finally(() => this.#running.delete(answered));
    return answered;
  }

  async #call({ seq, batch, connector, method, args: given }: Record<string, unknown>): Promise<Answer> {
    if (!isCount(seq) || !isCount(batch) || !isCallName(connector) || !isCallName(method))
      return { refused: "This is not a call." };
    const args = this.#encoded(given, `The arguments of ${connector}.${method}`);
    if (!args.ok) return { refused: args.error };
    const asked = { seq, batch, connector, method, args: canonicalText(args.value) };
    const problem = this.#numberProblem(seq);
    if (problem !== undefined) return this.#fail(problem);
    const tool = this.#toolOf(asked);
    return this.#act(asked, tool, this.#decide(asked, tool));
  }

  #numberProblem(seq: number): string | undefined {
    if (seq >= MAX_CALLS) return `A run may make at most ${MAX_CALLS} calls.`;
    if (this.#seen.has(seq)) return "The code tampered with its calls.";
    this.#seen.add(seq);
    return undefined;
  }

  #decide({ seq, batch, ...call }: Asked, tool?: Pick<ConnectorTool, "onUnknownOutcome">): LoggedStep {
    const { store, execution } = this.#init;
    return decideCall({
      ...call,
      status: this.#failure === undefined ? (store.find(execution.id)?.status ?? "error") : "error",
      isSameBatch: this.#pausedBatch === batch,
      entry: store.entry(execution.id, seq),
      onUnknownOutcome: tool?.onUnknownOutcome
    });
  }

  async #act(asked: Asked, tool: ConnectorTool | undefined, decision: LoggedStep): Promise<Answer> {
    const { store, execution } = this.#init;
    switch (decision.do) {
      case "refuse":
        return this.#pausedBatch === undefined ? { refused: this.#failure ?? OVER } : { paused: true };
      case "diverge":
        return this.#fail(divergence(asked.seq));
      case "replay":
        return this.#replay({ value: decodeValue(decision.result ?? "null"), order: decision.order });
      case "rethrow":
        return this.#replay({ error: errorOf(decision.error), order: decision.order });
      case "read-again":
        return this.#replay({ ...(await this.#runTool(asked, tool)), order: decision.order });
      case "begin":
        return this.#begin(asked, tool);
      case "run":
        store.move(execution.id, asked.seq, "executing");
        return this.#execute(asked, tool);
      case "wait":
        return this.#pause(asked, () => {
          if (decision.isAskedAgain) store.askAgain(execution.id, asked.seq);
        });
      case "give-up":
        return this.#settle(asked.seq, {
          error: {
            name: "UnknownOutcome",
            message: `${asked.connector}.${asked.method} may have run: its result is not known.`
          }
        });
    }
  }

  #replay<One extends Answer>(answer: One): One {
    this.#toReplay -= 1;
    if (this.#toReplay === 0) this.#replayed.resolve();
    return answer;
  }

  /** Checked before a human is asked, and before anything is run. */
  async #begin(asked: Asked, tool: ConnectorTool | undefined): Promise<Answer> {
    const { store, execution, validate } = this.#init;
    const entry = { ...asked, requiresApproval: false, isEphemeral: tool?.replay === "reexecute" };
    const record = (state: "executing" | "pending", requiresApproval = false) =>
      store.add(execution.id, { ...entry, requiresApproval, state });
    const refuse = (message: string) => {
      record("executing");
      return this.#settle(asked.seq, { error: { name: "TypeError", message } });
    };
    if (!tool) return refuse(`${asked.connector}.${asked.method} does not exist.`);
    const args = decodeValue(asked.args);
    const checked =
      tool.inputSchema === undefined ? { ok: true as const, value: args } : await validate(tool.inputSchema, args);
    if (!checked.ok) return refuse(`Invalid arguments for ${asked.connector}.${asked.method}: ${checked.error}`);
    const gate = tool.requiresApproval;
    const isGated = typeof gate === "function" ? await gate(checked.value) : gate === true;
    // While the gate was asked another call may have paused or failed the run.
    if (this.#isOver || this.#decide(asked, tool).do !== "begin") return { paused: true };
    if (isGated) return this.#pause(asked, () => record("pending", true));
    record("executing");
    return this.#execute(asked, tool);
  }

  #pause({ batch }: Asked, write: () => void): Answer {
    const { store, execution, expiresAt } = this.#init;
    store.atomically(() => {
      write();
      store.pause(execution.id, expiresAt());
    });
    this.#pausedBatch = batch;
    return { paused: true };
  }

  async #execute(asked: Asked, tool: ConnectorTool | undefined): Promise<Answer> {
    const ran = await this.#runTool(asked, tool);
    if ("error" in ran) return this.#settle(asked.seq, ran);
    if (tool?.replay === "reexecute") return this.#settle(asked.seq, { value: ran.value, isEphemeral: true });
    return this.#settle(asked.seq, ran);
  }

  async #runTool(asked: Asked, tool: ConnectorTool | undefined): Promise<Ran> {
    const { store, execution, validate } = this.#init;
    if (!tool) return { error: { name: "TypeError", message: `${asked.connector}.${asked.method} does not exist.` } };
    try {
      const args = decodeValue(store.entry(execution.id, asked.seq)?.editedArgs ?? asked.args);
      const checked =
        tool.inputSchema === undefined ? { ok: true as const, value: args } : await validate(tool.inputSchema, args);
      if (!checked.ok)
        throw new TypeError(`Invalid arguments for ${asked.connector}.${asked.method}: ${checked.error}`);
      const value: unknown = await tool.execute(checked.value, this.#contextOf(asked.seq));
      return { value };
    } catch (error) {
      return { error: errorValue(error) };
    }
  }

  #contextOf(seq: number): ConnectorContext {
    return connectorContext(this.#init.execution, seq, this.#stopped.signal);
  }

  /** The record of what came of it is written before the code, and with it the model, can know. */
  #settle(seq: number, ran: Ran & { isEphemeral?: boolean }): Answer {
    const { store, execution } = this.#init;
    const order = this.#order;
    const failed = (error: { name: string; message: string }): Answer => {
      this.#order += 1;
      store.settle(execution.id, seq, { state: "failed", result: JSON.stringify(error), order });
      return { error, order };
    };
    if ("error" in ran) return failed(ran.error);
    const encoded = ran.isEphemeral === true ? undefined : encodeValue(ran.value);
    if (encoded?.ok === false) {
      store.move(execution.id, seq, "error");
      return this.#fail(`The result of call ${seq} cannot be recorded: ${encoded.error}.`);
    }
    this.#order += 1;
    store.settle(execution.id, seq, { state: "applied", result: encoded?.value ?? null, order });
    return { value: encoded === undefined ? ran.value : decodeValue(encoded.value), order };
  }

  // ── Steps ──

  #step({ seq, name }: Record<string, unknown>): Answer | { run: true } {
    const { store, execution } = this.#init;
    if (!isCount(seq)) return { refused: "This is not a step." };
    const args = JSON.stringify(String(name).slice(0, 200));
    const asked = { seq, batch: -1, connector: STEP, method: "step", args };
    const problem = this.#numberProblem(seq);
    if (problem !== undefined) return this.#fail(problem);
    // It calls no tools: what it computed is computed again.
    const decision = this.#decide(asked, { onUnknownOutcome: "retry" });
    switch (decision.do) {
      case "replay":
        return this.#replay({ value: decodeValue(decision.result ?? "null"), order: decision.order });
      case "rethrow":
        return this.#replay({ error: errorOf(decision.error), order: decision.order });
      case "begin":
        store.add(execution.id, { ...asked, requiresApproval: false, isEphemeral: false, state: "executing" });
        return { run: true };
      case "run":
        return { run: true };
      case "diverge":
        return this.#fail(divergence(seq));
      default:
        return this.#pausedBatch === undefined ? { refused: this.#failure ?? OVER } : { paused: true };
    }
  }

  #stepDone({ seq, value, error }: Record<string, unknown>): Answer {
    const { store, execution } = this.#init;
    const entry = isCount(seq) ? store.entry(execution.id, seq) : undefined;
    if (!isCount(seq) || entry?.connector !== STEP || entry.state !== "executing")
      return { refused: "This is not a step." };
    if (error !== undefined)
      return this.#settle(seq, { error: { name: "Error", message: String(error).slice(0, MAX_ERROR_CHARS) } });
    return this.#settle(seq, { value });
  }

  // ── Failures of the run itself ──

  #toolOf({ connector, method }: Asked): ConnectorTool | undefined {
    return this.#init.connectors.find(({ name }) => name === connector)?.tools.get(method);
  }

  #encoded(value: unknown, what: string): Result<string, string> {
    const encoded = encodeValue(value);
    if (encoded.ok) return encoded;
    this.#fail(`${what} cannot be recorded: ${encoded.error}.`);
    return { ok: false, error: this.#failure ?? encoded.error };
  }

  /** The run cannot go on: whatever the code does with this, its outcome is this error. */
  #fail(error: string): { refused: string } {
    this.#failure ??= error;
    this.#stopped.abort();
    return { refused: this.#failure };
  }
}

type Ran = { readonly value: unknown } | { readonly error: { name: string; message: string } };

const LATE = Symbol("late");
const ABORTED = Symbol("aborted");
const OVER = "The run is over.";

export function connectorContext(execution: Execution, seq: number, abortSignal: AbortSignal): ConnectorContext {
  const { id, toolCallId } = execution;
  return { executionId: id, seq, idempotencyKey: `${id}:${seq}`, toolCallId: `${toolCallId}:${seq}`, abortSignal };
}

function divergence(seq: number): string {
  return `replay divergence at step ${seq}: the code did not repeat the call it had made there. Wrap what differs from pass to pass, such as Math.random() or Date.now(), in codemode.step(name, () => …).`;
}

function aborted(signal: AbortSignal): Promise<typeof ABORTED> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(ABORTED);
    signal.addEventListener("abort", () => resolve(ABORTED), { once: true });
  });
}

function errorValue(error: unknown): { name: string; message: string } {
  const name = error instanceof Error ? error.name : "Error";
  return { name: name.slice(0, 100), message: errorMessage(error).slice(0, MAX_ERROR_CHARS) };
}

/** Only for what `#settle` wrote. */
function errorOf(text: string): { name: string; message: string } {
  return JSON.parse(text) as { name: string; message: string };
}

/** Arguments are compared with their keys in order. */
function canonicalText(encoded: string): string {
  return canonicalJson(JSON.parse(encoded) as unknown);
}

/** What an isolate returned is untrusted. */
function logsOf(returned: unknown): string[] {
  const logs = isObject(returned) ? returned["logs"] : undefined;
  if (!Array.isArray(logs)) return [];
  const kept: string[] = [];
  let chars = 0;
  for (const line of logs.slice(0, MAX_LOG_LINES)) {
    if (typeof line !== "string" || chars > 2 * MAX_LOG_CHARS) continue;
    kept.push(line.slice(0, MAX_LOG_CHARS));
    chars += line.length;
  }
  return kept;
}
