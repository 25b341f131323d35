// Tools that run where the client runs, and approvals that a program gives. Each call is handled at most once by one
// client, after the answer that made it has ended. Several tabs may show the same call: the one that asked runs it, and
// the server takes the first answer only.
import { errorMessage } from "../util/errors.ts";
import type { ChatState } from "./chat-state.ts";
import type { ClientToolDescription } from "./frames.ts";
import type { ChatView, WaitingApproval, PendingToolCall } from "./view.ts";

export interface ClientTool {
  readonly description?: string;
  /** JSON Schema of the input. Left out: any object. */
  readonly parameters?: object;
  /** What it returns is the output; what it throws is an error that the model reads. */
  execute(input: never, context: { readonly callId: string; readonly signal: AbortSignal }): unknown;
  /**
   * False: a call that is found waiting after a reload, or when a second tab opens, is not run: its first run may have
   * had an effect. Answer it with `answerTool`. Default true.
   */
  readonly rerun?: boolean;
}

export type ClientTools = Readonly<Record<string, ClientTool>>;

/** True or false decides. Undefined leaves the question open for the user or another client. */
export type ApprovalHandler = (approval: WaitingApproval) => boolean | void | Promise<boolean | void>;

export interface ToolRunnerInit {
  readonly tools: ClientTools | undefined;
  readonly onApproval: ApprovalHandler | undefined;
  /** False: the call is not on the screen any more, and the outcome of no use. */
  answer(call: PendingToolCall, outcome: { output: unknown } | { errorText: string }): boolean;
  decide(approval: WaitingApproval, isApproved: boolean): Promise<unknown>;
}

/** The descriptions that the model gets. Undefined: this client has no `tools` setting, and the stored tools stay. */
export function describeTools(tools: ClientTools | undefined): ClientToolDescription[] | undefined {
  if (tools === undefined) return undefined;
  return Object.entries(tools).map(([name, { description, parameters }]) => ({
    name,
    description,
    parameters
  }));
}

export class ToolRunner {
  readonly #init: ToolRunnerInit;
  /** Calls this client has taken up, as long as they are open. */
  #taken = new Set<string>();
  /** With their calls, until they are settled. One that the agent refused is open again: to answer it once more would go on for ever. */
  readonly #answered = new Map<string, string>();
  #abort = new AbortController();

  constructor(init: ToolRunnerInit) {
    this.#init = init;
  }

  /** Something changed: takes up what is new. */
  look(view: ChatView, { driver, answers }: Pick<ChatState, "driver" | "answers">): void {
    const open = [...view.pendingToolCalls, ...view.pendingApprovals];
    const keys = new Set(open.map(keyOf));
    for (const key of this.#taken) if (!keys.has(key)) this.#taken.delete(key);
    for (const [key, callId] of this.#answered) {
      if (!keys.has(key) && !answers.has(callId)) this.#answered.delete(key);
    }
    // While an answer streams its calls may still change, and the server could not go on anyway.
    if (view.status !== "parked" || driver === "other") return;
    for (const call of view.pendingToolCalls) {
      const tool = Object.hasOwn(this.#init.tools ?? {}, call.toolName) ? this.#init.tools?.[call.toolName] : undefined;
      if (tool && (driver === "me" || tool.rerun !== false)) this.#take(call, () => this.#run(tool, call));
    }
    const { onApproval } = this.#init;
    if (onApproval === undefined) return;
    for (const approval of view.pendingApprovals) {
      // Whether it was done is for the user to find out: a program that says yes would do it twice.
      if (!approval.mayHaveRun) this.#take(approval, () => this.#ask(onApproval, approval));
    }
  }

  /** Aborts running tools; their results are not sent. */
  stop(): void {
    this.#abort.abort();
    this.#abort = new AbortController();
  }

  #take(call: OpenCall, work: () => Promise<void>): void {
    const key = keyOf(call);
    if (this.#taken.has(key) || this.#answered.has(key)) return;
    this.#taken.add(key);
    void work();
  }

  async #run(tool: ClientTool, call: PendingToolCall): Promise<void> {
    const { signal } = this.#abort;
    const outcome = await execute(tool, call, signal);
    if (signal.aborted) return;
    // Before it is answered: a refusal may come at once.
    this.#answered.set(keyOf(call), call.callId);
    if (!this.#init.answer(call, outcome)) this.#answered.delete(keyOf(call));
  }

  async #ask(onApproval: ApprovalHandler, approval: WaitingApproval): Promise<void> {
    const { signal } = this.#abort;
    try {
      const isApproved = await onApproval(approval);
      if (typeof isApproved !== "boolean" || signal.aborted) return;
      this.#answered.set(keyOf(approval), approval.callId);
      await this.#init.decide(approval, isApproved);
    } catch (error) {
      if (signal.aborted) return;
      // The question stays on the screen, for the user.
      console.error(`The approval of "${approval.toolName}" could not be decided:`, error);
    }
  }
}

type OpenCall = Pick<WaitingApproval, "callId" | "inputHash">;

/** Code that waits may ask several questions about one call of the model. */
function keyOf({ callId, inputHash = "" }: OpenCall): string {
  return `${callId} ${inputHash}`;
}

async function execute(
  tool: ClientTool,
  { callId, input }: PendingToolCall,
  signal: AbortSignal
): Promise<{ output: unknown } | { errorText: string }> {
  try {
    // The schema the tool declares is what the model was held to.
    return { output: await tool.execute(input as never, { callId, signal }) };
  } catch (error) {
    return { errorText: errorMessage(error) };
  }
}
