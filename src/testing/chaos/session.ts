// The user's side of a conversation under chaos: each step is sent, waited for, and sent again if the process died before
// it was stored. A step ends when the agent says it is idle and the step's effect shows. The session also plays the
// operator: it starts the process again whenever it has died, and lets the clients reconnect.
import type { UIMessage } from "ai";
import { isToolPart, toolNameOf, type ToolPart } from "../../model/index.ts";
import type { ChatClient } from "./chat-client.ts";
import { ConversationError, StepNeverEndedError } from "./errors.ts";
import type { Stage } from "./stage.ts";

/** Virtual waits until a step must have ended: past every back-off of recovery, and past retention. */
const WAITS_MS = [60, 1_000, 5_000, 15_000, 45_000, 60_000, 120_000, 300_000, 600_000, 3_600_000];
/** A frame is sent again only after a death swallowed it; more often than this it is refused, not lost. */
const SENDS_PER_DEATH = 3;

export interface StepGoal {
  /** Shown in differences. */
  readonly name: string;
  /** Sends the frames of the step. Called again if they were lost. */
  send(client: ChatClient): void;
  /** Looked at whenever the agent is idle. */
  isReached(client: ChatClient): boolean;
}

export interface ToolAnswer {
  readonly tool: string;
  readonly output?: unknown;
  /** Instead of an output. */
  readonly errorText?: string;
}

export class ChaosSession {
  readonly #stage: Stage;
  readonly #client: ChatClient;
  readonly #prefix: string;
  #requests = 0;

  /** Made by the runner. The prefix is of request ids, which must not repeat within a run. */
  constructor(stage: Stage, prefix = "request") {
    this.#stage = stage;
    this.#prefix = prefix;
    this.#client = stage.clients[0] ?? stage.addClient();
  }

  /** What the user's own tab shows. */
  get messages(): readonly UIMessage[] {
    return this.#client.messages;
  }

  /** Asks a question and waits for its answer, or until the agent waits for the user. */
  async ask(question: string, body: Record<string, unknown> = {}): Promise<void> {
    const requestId = this.#newRequest();
    this.#stage.firstQuestion ??= question;
    const message: UIMessage = { id: `user-${requestId}`, role: "user", parts: [{ type: "text", text: question }] };
    const before = [...this.#client.messages];
    this.#client.view.messages = [...before, message];
    await this.step({
      name: `ask ${JSON.stringify(question)}`,
      send: (client) => client.send(chatRequest(requestId, { messages: [...before, message], ...body })),
      isReached: ({ messages, ends }) => {
        const at = messages.findIndex(({ id }) => id === message.id);
        return ends.has(requestId) || (at >= 0 && messages.slice(at).some(({ role }) => role === "assistant"));
      }
    });
  }

  /** Asks for another answer to the last question. */
  async regenerate(body: Record<string, unknown> = {}): Promise<void> {
    const requestId = this.#newRequest();
    const old = this.#client.messages.findLast(({ role }) => role === "assistant");
    const at = this.#client.messages.findLastIndex(({ role }) => role === "user");
    if (at < 0) throw new ConversationError("There is no question to answer again.");
    const messages = this.#client.messages.slice(0, at + 1);
    this.#client.view.messages = messages;
    await this.step({
      name: "regenerate",
      send: (client) => client.send(chatRequest(requestId, { messages, trigger: "regenerate-message", ...body })),
      isReached: (client) => {
        const last = client.messages.at(-1);
        return client.ends.has(requestId) || (last?.role === "assistant" && last.id !== old?.id);
      }
    });
  }

  /** Gives the outputs of client tools, all at once, and waits for what the agent makes of them. */
  async answer(...answers: readonly ToolAnswer[]): Promise<void> {
    const calls = answers.map((answer) => ({ answer, call: this.#pending(answer.tool, "input-available") }));
    await this.step({
      name: `answer ${answers.map(({ tool }) => tool).join(" and ")}`,
      send: (client) => {
        for (const { answer, call } of calls) client.send(toolResult(call, answer));
      },
      isReached: ({ messages }) => calls.every(({ call }) => isAnswered(messages, call.toolCallId))
    });
  }

  /** Allows or refuses a call that waits for approval, and waits for what the agent makes of it. */
  async approve(tool: string, approved = true): Promise<void> {
    const { toolCallId } = this.#pending(tool, "approval-requested");
    await this.step({
      name: `${approved ? "approve" : "refuse"} ${tool}`,
      send: (client) => client.send({ type: "cf_agent_tool_approval", toolCallId, approved, autoContinue: true }),
      isReached: ({ messages }) => isAnswered(messages, toolCallId)
    });
  }

  /** Empties the conversation. */
  async clear(): Promise<void> {
    await this.step({
      name: "clear",
      send: (client) => {
        // The client that clears gets no frame about it.
        client.view.messages = [];
        client.send({ type: "cf_agent_chat_clear" });
      },
      isReached: ({ messages }) => messages.length === 0
    });
  }

  /** Any other step, over the user's own client. */
  async step(goal: StepGoal): Promise<void> {
    await this.#stage.begin(goal.name);
    await this.#reach(goal);
    await this.#stage.finish(goal.name);
  }

  async #reach(goal: StepGoal): Promise<void> {
    let wait = 0;
    let sends = 0;
    let deaths = -1;
    for (;;) {
      await this.#stage.settle();
      // Frames of a dead process are lost: after a death the step may have to be sent again.
      if (deaths !== this.#stage.deaths) {
        if (deaths >= 0) wait = 0;
        [deaths, sends] = [this.#stage.deaths, sends === 0 ? 0 : 1];
        if (sends === 0) {
          sends = 1;
          goal.send(this.#client);
          continue;
        }
      }
      const isIdle = await this.#stage.areClientsIdle();
      if (deaths !== this.#stage.deaths) continue;
      if (isIdle && goal.isReached(this.#client)) return;
      if (isIdle && sends < SENDS_PER_DEATH) {
        sends += 1;
        goal.send(this.#client);
        continue;
      }
      const waitMs = WAITS_MS[wait];
      if (waitMs === undefined) throw new StepNeverEndedError(goal.name, this.#situation(isIdle));
      wait += 1;
      await this.#stage.advance(waitMs);
    }
  }

  #situation(isIdle: boolean): string {
    const last = this.#client.messages.at(-1);
    const shown = last === undefined ? "nothing" : JSON.stringify({ role: last.role, parts: last.parts }).slice(0, 300);
    return `The agent ${isIdle ? "is idle" : "never became idle"}; the last message is ${shown}.`;
  }

  #newRequest(): string {
    this.#requests += 1;
    return `${this.#prefix}-${this.#requests}`;
  }

  #pending(tool: string, state: string): ToolPart {
    for (const { parts } of this.#client.messages.toReversed()) {
      for (const part of parts) if (isToolPart(part) && toolNameOf(part) === tool && part.state === state) return part;
    }
    throw new ConversationError(`No call of "${tool}" is ${state}.`);
  }
}

function chatRequest(id: string, content: Record<string, unknown>) {
  const body = JSON.stringify({ trigger: "submit-message", ...content });
  return { type: "cf_agent_use_chat_request", id, init: { method: "POST", body } };
}

function toolResult({ toolCallId }: ToolPart, { tool, output, errorText }: ToolAnswer) {
  const ending = errorText === undefined ? { output } : { state: "output-error", errorText };
  return { type: "cf_agent_tool_result", toolCallId, toolName: tool, autoContinue: true, ...ending };
}

function isAnswered(messages: readonly UIMessage[], callId: string): boolean {
  return messages.some(({ parts }) =>
    parts.some(
      (part) =>
        isToolPart(part) &&
        part.toolCallId === callId &&
        part.state !== "input-available" &&
        part.state !== "approval-requested"
    )
  );
}
