// One run of a conversation: the host, its clients, the disturbance, and a record of what could be seen after each step.
// Every wait ends when the process dies; the next `settle` then starts it again and lets the clients reconnect.
import type { UIMessage } from "ai";
import { isDeepStrictEqual } from "node:util";
import { ChatClient, readMessages } from "./chat-client.ts";
import type { ChatFrame } from "./chat-view.ts";
import type { Disturbance } from "./disturbance.ts";
import { chaosErrors } from "./errors.ts";
import { failedCalls, normalMessages, type NormalMessage } from "./normal-form.ts";
import { readStoredTurns, type ObjectUnderTest } from "./stored-turns.ts";

/** Deaths of one run before it is taken for a loop. */
const MAX_DEATHS = 200;

/** How often in a row a living process may end the connections of its clients. */
const MAX_OPENINGS = 5;

export interface StepRecord {
  readonly name: string;
  readonly messages: readonly NormalMessage[];
  readonly ids: readonly string[];
}

/** A call shown as failed that was running when the process died. */
export interface InterruptedCall {
  readonly callId: string;
  readonly tool: string;
}

/** What one run left to compare. */
export interface RunRecord {
  readonly steps: readonly StepRecord[];
  /** How often each turn was settled, and as what, in order. */
  readonly turns: readonly (readonly string[])[];
  readonly effects: Readonly<Record<string, number>>;
  readonly interrupted: readonly InterruptedCall[];
  /** Client lists that differed from storage, streams that differed from what was stored of them. */
  readonly viewProblems: readonly string[];
  readonly streamProblems: readonly string[];
  /** Requests whose end came twice on one socket. */
  readonly repeatedEnds: readonly string[];
  /** Settled turns without their row of history, or with two. */
  readonly historyProblems: readonly string[];
  readonly openTurns: number;
  readonly hasAlarm: boolean;
  readonly deaths: number;
  readonly error: unknown;
}

export interface StageInit {
  readonly object: ObjectUnderTest;
  /** Of the agent's URL. */
  readonly path: string;
  readonly disturbance: Disturbance;
  readonly watchers: number;
}

export class Stage {
  readonly object: ObjectUnderTest;
  readonly clients: ChatClient[] = [];
  readonly steps: StepRecord[] = [];
  readonly viewProblems: string[] = [];
  readonly #historyProblems = new Set<string>();
  /** What the user asked first: a question the agent can answer. */
  firstQuestion: string | undefined;
  /** Server calls that were running at a death. */
  readonly openAtDeath = new Set<string>();
  readonly #path: string;
  readonly #disturbance: Disturbance;
  readonly #settled = new Map<string, Map<number, string>>();
  readonly #interrupted = new Map<string, InterruptedCall>();
  #deaths = 0;
  #frames = 0;
  #boundaries = 0;
  #step = "start";
  #death: Promise<void>;

  constructor({ object, path, disturbance, watchers }: StageInit) {
    this.object = object;
    this.#path = path;
    this.#disturbance = disturbance;
    this.#death = object.host.untilCrash();
    for (let count = 0; count <= watchers; count += 1) this.addClient();
  }

  get deaths(): number {
    return this.#deaths;
  }

  /** Frames the clients have sent. */
  get frames(): number {
    return this.#frames;
  }

  /** Boundaries the agent has passed. */
  get boundaries(): number {
    return this.#boundaries;
  }

  get currentStep(): string {
    return this.#step;
  }

  addClient(): ChatClient {
    const client = new ChatClient({
      connect: () => this.object.host.connect(this.#path),
      fetchMessages: () => this.fetchMessages(),
      copies: (frame) => this.#copies(frame)
    });
    this.clients.push(client);
    return client;
  }

  /** For the agent's fakes: an await of theirs. */
  async boundary(): Promise<void> {
    this.#boundaries += 1;
    this.#disturbance.atBoundary?.(this, this.#boundaries);
    await this.object.host.boundary();
  }

  async fetchMessages(): Promise<UIMessage[]> {
    return readMessages(await this.object.host.fetch(`${this.#path}/get-messages`));
  }

  begin(name: string): void {
    this.#step = name;
  }

  /** Notes what can be seen now, from outside and by every client. */
  async finish(name: string): Promise<void> {
    const stored = await this.stored();
    for (const [index, { messages }] of this.clients.entries()) {
      if (isDeepStrictEqual(messages, stored)) continue;
      const who = index === 0 ? "the user's tab" : `watching tab ${index}`;
      this.viewProblems.push(`after ${name}, ${who} shows ${show(messages)} instead of ${show(stored)}`);
    }
    this.noteStored(stored);
    const interrupted = new Set(this.#interrupted.keys());
    this.steps.push({ name, messages: normalMessages(stored, { interrupted }), ids: stored.map(({ id }) => id) });
  }

  /** Asks for the stored messages until the process lives long enough to answer. */
  async stored(): Promise<UIMessage[]> {
    for (;;) {
      await this.settle();
      const { deaths } = this;
      const messages = await this.#unlessDead(this.fetchMessages());
      if (messages !== undefined && deaths === this.deaths) return messages;
    }
  }

  /** Runs until nothing is left to do: the process lives, and every client is connected. */
  async settle(): Promise<void> {
    for (let openings = 0; ; openings += 1) {
      await this.object.host.idle();
      if (this.object.host.crashed) {
        await this.#revive();
        openings = 0;
        continue;
      }
      const closed = this.clients.filter(({ isOpen }) => !isOpen);
      if (closed.length === 0) return;
      if (openings > MAX_OPENINGS) throw chaosErrors.ConnectionsRefusedError(openings);
      await this.#unlessDead(Promise.all(closed.map((client) => client.open())));
    }
  }

  async advance(ms: number): Promise<void> {
    await this.#unlessDead(this.object.host.advance(ms));
  }

  /** Asks every client to ask. Time passes only in the sense that the process may die. */
  async areClientsIdle(): Promise<boolean> {
    const { deaths } = this;
    for (const client of this.clients) client.ask();
    await this.settle();
    return deaths === this.deaths && this.clients.every(({ isIdle }) => isIdle);
  }

  record(effects: Readonly<Record<string, number>>, error: unknown): RunRecord {
    const stored = readStoredTurns(this.object);
    return {
      steps: this.steps,
      turns: [...this.#settled.values()].map((outcomes) => [...outcomes.values()]),
      effects,
      interrupted: [...this.#interrupted.values()],
      viewProblems: this.viewProblems,
      streamProblems: this.clients.flatMap((client, index) => streamProblems(client, index)),
      repeatedEnds: this.clients.flatMap(({ repeatedEnds }) => [...repeatedEnds]),
      historyProblems: [...this.#historyProblems],
      openTurns: stored.openTurns,
      hasAlarm: this.object.host.alarm(this.object.agent, this.object.name) !== null,
      deaths: this.deaths,
      error
    };
  }

  /** Records go when they are no longer needed, so they are looked at after each step. */
  noteStored(stored: readonly UIMessage[]): void {
    const { settled, historyProblems } = readStoredTurns(this.object);
    for (const problem of historyProblems) this.#historyProblems.add(problem);
    for (const [turn, outcomes] of settled) {
      const known = this.#settled.get(turn) ?? new Map<number, string>();
      for (const { sequence, outcome } of outcomes) known.set(sequence, outcome);
      this.#settled.set(turn, known);
    }
    for (const { callId, tool } of failedCalls(stored)) {
      if (this.openAtDeath.has(callId)) this.#interrupted.set(callId, { callId, tool });
    }
  }

  async #revive(): Promise<void> {
    this.#deaths += 1;
    if (this.#deaths > MAX_DEATHS) throw new Error(`The process died ${MAX_DEATHS} times; the disturbance never ends.`);
    const { host } = this.object;
    for (const callId of readStoredTurns(this.object).openCalls) this.openAtDeath.add(callId);
    this.#disturbance.died?.(this);
    this.#death = Promise.resolve();
    const restarting = host.restart();
    this.#death = host.untilCrash();
    await restarting;
    if (host.crashed) return;
    // Recovery must not need a client: sometimes there is none for a while.
    const absenceMs = this.#disturbance.clientsStayAwayMs ?? 0;
    if (absenceMs > 0) await this.advance(absenceMs);
  }

  #copies(frame: ChatFrame): number {
    this.#frames += 1;
    return this.#disturbance.copies?.(frame, this.#frames) ?? 0;
  }

  /** The result, or undefined when the process died first. What fails in a living process is a real failure. */
  async #unlessDead<T>(work: Promise<T>): Promise<T | undefined> {
    const { host } = this.object;
    const outcome = work.catch((error: unknown) => {
      if (!host.crashed) throw error;
      return undefined;
    });
    return Promise.race([outcome, this.#death.then(() => undefined)]);
  }
}

function streamProblems({ view, gaps }: ChatClient, index: number): string[] {
  const wrong = view.answers.flatMap(({ requestId, streamed, stored }) => {
    if (stored === undefined) return [`client ${index}: the answer to ${requestId} was streamed and not stored`];
    const [shown, kept] = [normalMessages([streamed]), normalMessages([stored])];
    if (isDeepStrictEqual(shown, kept)) return [];
    return [`client ${index}: the answer to ${requestId} was streamed as ${show(shown)} and stored as ${show(kept)}`];
  });
  return [...gaps.map((gap) => `client ${index} of ${gap}`), ...wrong];
}

function show(value: unknown): string {
  return JSON.stringify(value);
}
