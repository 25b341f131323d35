// An agent and a workflow that does what its params say, on the in-process host and in workerd alike. What the agent was
// notified of is in a table, so it survives; `seen` ends on an entry and not on a clock.
import { Agent, type RunWorkflowOptions } from "../../src/agent-class/index.ts";
import { AgentWorkflow, type AgentWorkflowEvent, type AgentWorkflowStep } from "../../src/features/workflows/index.ts";

export interface LibraryState {
  shelf: string;
  count: number;
}

/** One thing the workflow does. */
export type Command =
  | ["progress" | "complete" | "event" | "broadcast", unknown]
  | ["error" | "throw" | "call" | "wait", string]
  | ["set", LibraryState]
  | ["merge", Partial<LibraryState>]
  | ["reset"];

export interface ImportParams {
  plan: Command[];
}

export class Library extends Agent<object, LibraryState> {
  override initialState = { shelf: "empty", count: 0 };
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();

  override onWorkflowProgress(workflowName: string, workflowId: string, progress: unknown) {
    this.#record("progress", workflowName, [workflowId, progress]);
  }

  override onWorkflowComplete(workflowName: string, workflowId: string, result?: unknown) {
    this.#record("complete", workflowName, [workflowId, result]);
  }

  override onWorkflowError(workflowName: string, workflowId: string, error: string) {
    this.#record("error", workflowName, [workflowId, error]);
  }

  override onWorkflowEvent(workflowName: string, workflowId: string, event: unknown) {
    this.#record("event", workflowName, [workflowId, event]);
  }

  override validateStateChange(next: LibraryState) {
    if (next.shelf === "forbidden") throw new Error("not on this shelf");
  }

  override onError(error: unknown) {
    // Quiet: the tests fail hooks on purpose.
    throw error;
  }

  start(plan: Command[], options?: RunWorkflowOptions) {
    return this.runWorkflow("IMPORTER", { plan } satisfies ImportParams, options);
  }

  startWith(binding: string, params: unknown, options?: RunWorkflowOptions) {
    return this.runWorkflow(binding, params, options);
  }

  send(workflowId: string, type: string, payload: unknown) {
    return this.sendWorkflowEvent("IMPORTER", workflowId, { type, payload });
  }

  /** As plain data: the record must not keep its object awake. */
  async tracked(id: string) {
    const info = await this.getWorkflow(id);
    return info && { ...info, metadata: JSON.stringify(info.metadata) };
  }

  forget(id: string) {
    return this.deleteWorkflow(id);
  }

  shelf() {
    return { ...this.state };
  }

  note(entry: string) {
    this.#log(`note:${entry}`);
    return `noted ${entry} by ${this.name}`;
  }

  entries(): string[] {
    this.sql`CREATE TABLE IF NOT EXISTS log (entry TEXT)`;
    return this.sql<{ entry: string }>`SELECT entry FROM log ORDER BY rowid`.map(({ entry }) => entry);
  }

  /** Resolves once an entry with this beginning is logged. */
  async seen(beginning: string): Promise<void> {
    if (this.entries().some((entry) => entry.startsWith(beginning))) return;
    const waiting = this.#waiting.get(beginning) ?? Promise.withResolvers<void>();
    this.#waiting.set(beginning, waiting);
    await waiting.promise;
  }

  /** Calls a method of the library at the end of the path; children are created on the way. */
  async below(names: string[], method: string, ...args: unknown[]): Promise<unknown> {
    const [name, ...rest] = names;
    if (name === undefined) return (Reflect.get(this, method) as (...values: unknown[]) => unknown).apply(this, args);
    const child = await this.subAgent(Library, name);
    // A copy: the result of an RPC call must not outlive it.
    return structuredClone(await child.below(rest, method, ...args));
  }

  async dropChild(name: string) {
    await this.deleteSubAgent(Library, name);
  }

  /** Data that says so makes its hook fail the first time. */
  #record(hook: string, workflowName: string, [workflowId, data]: [string, unknown]): void {
    const entry = `${hook}:${workflowName}:${workflowId}:${JSON.stringify(data)}`;
    const isFirst = !this.entries().includes(`failed ${entry}`);
    if (data === "fail once" && isFirst) {
      this.#log(`failed ${entry}`);
      throw new Error("the hook failed");
    }
    this.#log(entry);
  }

  #log(entry: string): void {
    this.sql`CREATE TABLE IF NOT EXISTS log (entry TEXT)`;
    this.sql`INSERT INTO log VALUES (${entry})`;
    for (const [beginning, waiting] of this.#waiting) if (entry.startsWith(beginning)) waiting.resolve();
  }
}

export class Importer extends AgentWorkflow<Library, ImportParams> {
  override async run(event: AgentWorkflowEvent<ImportParams>, step: AgentWorkflowStep<unknown, LibraryState>) {
    let answer: unknown = null;
    for (const [index, command] of event.payload.plan.entries()) {
      answer = (await this.#perform(`command ${index}`, command, step)) ?? answer;
    }
    return { answer, params: Object.keys(event.payload), id: this.workflowId, name: this.workflowName };
  }

  async #perform(name: string, command: Command, step: AgentWorkflowStep<unknown, LibraryState>): Promise<unknown> {
    const [verb, value] = command;
    switch (verb) {
      case "progress":
        return step.reportProgress(value);
      case "complete":
        return step.reportComplete(value);
      case "error":
        return step.reportError(new Error(value));
      case "event":
        return step.sendEvent(value);
      case "broadcast":
        return step.broadcastToClients(value);
      case "set":
        return step.updateAgentState(value);
      case "merge":
        return step.mergeAgentState(value);
      case "reset":
        return step.resetAgentState();
      case "call":
        return step.do(name, () => this.agent.note(value));
      case "wait":
        return (await step.waitForEvent<string>(name, { type: value })).payload;
      case "throw":
        throw new Error(value);
    }
  }
}
