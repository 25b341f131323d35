// One round: the user's side of the conversation, on a server that may be gone at any moment. A step is sent, waited for,
// and sent again if a kill swallowed it, as a person would do it; after each step everything that can be seen is noted.
import type { UIMessage } from "ai";
import { isDeepStrictEqual } from "node:util";
import { isToolPart, toolNameOf, type ToolPart } from "../../../src/model/index.ts";
import { failedCalls, type NormalMessage, normalMessages } from "../../../src/testing/chaos/normal-form.ts";
import { fetchMessages, LastingClient } from "./lasting-client.ts";
import { type Effect, type StoredState, QUESTIONS } from "./trip.ts";

/** Past every pause of recovery between deaths (5, 15 and 40 s) and the work itself. */
const STEP_LIMIT_MS = 100_000;
const POLL_MS = 25;
/** A step whose frame arrived is reached when the agent is idle; this often it is sent again all the same. */
const MAX_SENDS = 12;
/** Tabs may learn of the last change a moment after the agent is idle. */
const AGREEMENT_MS = 3_000;
/** What the agent puts where a call was cut off. */
const CUT_OFF = /interrupted/i;

export interface RoundStep {
  readonly name: string;
  readonly messages: readonly NormalMessage[];
}

export interface RoundRecord {
  readonly steps: readonly RoundStep[];
  /** Outcomes of each turn, in order of settlement. One each is right. */
  readonly turns: readonly (readonly string[])[];
  readonly effects: readonly Effect[];
  /** Calls shown as cut off. */
  readonly cutOff: ReadonlyMap<string, string>;
  /** Calls shown as finished, by their own outcome. */
  readonly finished: ReadonlyMap<string, string>;
  readonly problems: readonly string[];
  readonly durationMs: number;
}

interface Goal {
  readonly name: string;
  send(): boolean;
  isReached(): boolean;
}

export class Round {
  readonly clients: readonly [LastingClient, LastingClient];
  readonly #url: string;
  readonly #steps: RoundStep[] = [];
  readonly #settled = new Map<string, Map<number, string>>();
  readonly #cutOff = new Map<string, string>();
  readonly #finished = new Map<string, string>();
  readonly #problems: string[] = [];
  #effects: readonly Effect[] = [];
  #requests = 0;
  /** Of the step that is being played; for reports of kills. */
  current = "start";

  constructor(url: string) {
    this.#url = url;
    this.clients = [new LastingClient(url), new LastingClient(url)];
  }

  /** Plays the conversation. Never throws: what went wrong is a problem of the record. */
  async play(): Promise<RoundRecord> {
    const startedAt = performance.now();
    try {
      await this.#converse();
    } catch (error) {
      this.#problems.push(error instanceof Error ? error.message : String(error));
    }
    const durationMs = performance.now() - startedAt;
    const names = ["the user's tab", "the watching tab"];
    for (const [index, { problems }] of this.clients.entries()) {
      this.#problems.push(...problems.map((problem) => `${names[index]}: ${problem}`));
    }
    for (const client of this.clients) client.end();
    return {
      steps: this.#steps,
      turns: [...this.#settled.values()].map((outcomes) => [...outcomes.values()]),
      effects: this.#effects,
      cutOff: this.#cutOff,
      finished: this.#finished,
      problems: this.#problems,
      durationMs
    };
  }

  async #converse(): Promise<void> {
    await this.#ask(QUESTIONS.sky);
    await this.#ask(QUESTIONS.book);
    await this.#ask(QUESTIONS.guide);
    const locate = { name: "locate", description: "Where the user is", parameters: { type: "object" } };
    await this.#ask(QUESTIONS.where, { clientTools: [locate] });
    await this.#answer("locate", { city: "Rome" });
    await this.#ask(QUESTIONS.pay);
    await this.#approve("pay");
    await this.#ask(QUESTIONS.who);
    await this.#regenerate({ tone: "different" });
    await this.#clear();
    await this.#ask(QUESTIONS.there);
  }

  get #user(): LastingClient {
    return this.clients[0];
  }

  async #ask(question: string, body: object = {}): Promise<void> {
    const requestId = this.#newRequest();
    const id = `user-${requestId}`;
    const message: UIMessage = { id, role: "user", parts: [{ type: "text", text: question }] };
    const messages = [...this.#user.messages, message];
    this.#user.view.messages = messages;
    await this.#step({
      name: `ask ${JSON.stringify(question)}`,
      send: () => this.#user.send(chatRequest(requestId, { messages, ...body })),
      isReached: () => {
        const at = this.#user.messages.findIndex((shown) => shown.id === id);
        return at >= 0 && this.#user.messages.slice(at).some(({ role }) => role === "assistant");
      }
    });
  }

  async #regenerate(body: object): Promise<void> {
    const requestId = this.#newRequest();
    const old = this.#user.messages.at(-1);
    const messages = this.#user.messages.slice(0, -1);
    this.#user.view.messages = messages;
    await this.#step({
      name: "regenerate",
      send: () => this.#user.send(chatRequest(requestId, { messages, trigger: "regenerate-message", ...body })),
      isReached: () => {
        const last = this.#user.messages.at(-1);
        return last?.role === "assistant" && last.id !== old?.id;
      }
    });
  }

  async #answer(toolName: string, output: unknown): Promise<void> {
    const { toolCallId } = this.#pending(toolName, "input-available");
    const frame = { type: "cf_agent_tool_result", toolCallId, toolName, output, autoContinue: true };
    await this.#step({
      name: `answer ${toolName}`,
      send: () => this.#user.send(frame),
      isReached: () => this.#isAnswered(toolCallId)
    });
  }

  async #approve(toolName: string): Promise<void> {
    const { toolCallId } = this.#pending(toolName, "approval-requested");
    const frame = { type: "cf_agent_tool_approval", toolCallId, approved: true, autoContinue: true };
    await this.#step({
      name: `approve ${toolName}`,
      send: () => this.#user.send(frame),
      isReached: () => this.#isAnswered(toolCallId)
    });
  }

  async #clear(): Promise<void> {
    await this.#step({
      name: "clear",
      send: () => {
        if (!this.#user.isOpen) return false;
        // The client that clears is not notified of it.
        this.#user.view.messages = [];
        return this.#user.send({ type: "cf_agent_chat_clear" });
      },
      isReached: () => this.#user.messages.length === 0
    });
  }

  async #step(goal: Goal): Promise<void> {
    this.current = goal.name;
    const deadline = performance.now() + STEP_LIMIT_MS;
    let sends = 0;
    for (;;) {
      if (performance.now() > deadline || sends > MAX_SENDS) throw new Error(this.#neverEnded(goal, sends));
      // A client that follows an answer live does not ask: asking would turn it into a replay.
      if (this.clients.some(({ isOpen, view }) => isOpen && view.isStreaming)) {
        await pause(POLL_MS);
        continue;
      }
      const activities = await Promise.all(this.clients.map((client) => client.activity()));
      const isIdle = activities.every((activity) => activity === "idle");
      if (isIdle && sends > 0 && goal.isReached() && (await this.#note(goal.name))) return;
      else if (isIdle && (sends === 0 || !goal.isReached())) sends += goal.send() ? 1 : 0;
      else await pause(POLL_MS);
    }
  }

  /** False when the server was gone in the middle of it. */
  async #note(name: string): Promise<boolean> {
    const deadline = performance.now() + AGREEMENT_MS;
    for (;;) {
      try {
        const stored = await fetchMessages(this.#url);
        const views = this.clients.map(({ messages }) => messages);
        const isAgreed = views.every((messages) => isDeepStrictEqual(messages, stored));
        if (!isAgreed && performance.now() < deadline) {
          await pause(POLL_MS);
          continue;
        }
        this.#noteState(await this.#readState(), stored);
        if (!isAgreed) this.#problems.push(disagreement(name, views, stored));
        const interrupted = new Set(this.#cutOff.keys());
        this.#steps.push({ name, messages: normalMessages(stored, { interrupted }) });
        return true;
      } catch (error) {
        // How fetch says that there is no server, or no longer.
        if (error instanceof TypeError) return false;
        throw error;
      }
    }
  }

  async #readState(): Promise<StoredState> {
    const response = await fetch(`${this.#url}/state`);
    if (!response.ok) throw new Error(`state answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as StoredState;
  }

  /** Records go when they are no longer needed, so they are looked at after each step. */
  #noteState({ effects, settled, openTurns }: StoredState, stored: readonly UIMessage[]): void {
    this.#effects = effects;
    if (openTurns.length > 0) this.#problems.push(`after ${this.current} turns are open: ${openTurns.join()}`);
    for (const { turnId, sequence, outcome } of settled) {
      const known = this.#settled.get(turnId) ?? new Map<number, string>();
      this.#settled.set(turnId, known.set(sequence, outcome));
    }
    for (const { callId, tool, error } of failedCalls(stored)) if (CUT_OFF.test(error)) this.#cutOff.set(callId, tool);
    for (const part of stored.flatMap(({ parts }) => parts)) {
      if (!isToolPart(part) || this.#cutOff.has(part.toolCallId)) continue;
      if (part.state === "output-available" || part.state === "output-error") {
        this.#finished.set(part.toolCallId, toolNameOf(part));
      }
    }
  }

  #neverEnded({ name }: Goal, sends: number): string {
    const shown = JSON.stringify(this.#user.messages.slice(-2)).slice(0, 1_500);
    return `${name} did not come to an end (sent ${sends} times); the last messages are ${shown}`;
  }

  #pending(toolName: string, state: string): ToolPart {
    for (const part of this.#user.messages.flatMap(({ parts }) => parts).toReversed()) {
      if (isToolPart(part) && toolNameOf(part) === toolName && part.state === state) return part;
    }
    throw new Error(`No call of ${toolName} is ${state}: ${JSON.stringify(this.#user.messages.at(-1))}`);
  }

  #isAnswered(callId: string): boolean {
    return this.#user.messages
      .flatMap(({ parts }) => parts)
      .some((part) => isToolPart(part) && part.toolCallId === callId && !WAITING.has(part.state));
  }

  #newRequest(): string {
    this.#requests += 1;
    return `request-${this.#requests}`;
  }
}

const WAITING: ReadonlySet<string> = new Set(["input-available", "approval-requested"]);

function chatRequest(id: string, content: object) {
  const body = JSON.stringify({ trigger: "submit-message", ...content });
  return { type: "cf_agent_use_chat_request", id, init: { method: "POST", body } };
}

function disagreement(name: string, views: (readonly UIMessage[])[], stored: readonly UIMessage[]): string {
  const who = views.findIndex((messages) => !isDeepStrictEqual(messages, stored));
  const shown = views[who] ?? [];
  const at = stored.findIndex((message, index) => !isDeepStrictEqual(message, shown[index]));
  const index = at < 0 ? stored.length : at;
  const lengths = `${shown.length} messages for ${stored.length}`;
  const [tab, disk] = [JSON.stringify(shown[index]), JSON.stringify(stored[index])];
  return `after ${name}, tab ${who} (${lengths}) shows ${tab} where ${disk} is stored`;
}

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
