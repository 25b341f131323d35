// Who deals with an agent in a round: a sender that begins jobs, a human who decides and sends each decision again, a page, and
// a user of a chat whose provider sends each webhook twice. All of them go on when the process is gone.
import { setTimeout as delay } from "node:timers/promises";
import WebSocket from "ws";
import { createThinkClient, type ThinkClient } from "../../../src/client/index.ts";
import type { FakeTelegram } from "../../../src/testing/messengers/index.ts";
import { answerTo, type AgentState, type ChatRecord, type Job } from "./jobs.ts";
import type { Outside } from "./outside.ts";

const AGAIN_MS = 40;
const LOOK_MS = 150;
const PATIENCE_MS = 5_000;
/** Each decision is sent so often. */
const SENT = 3;

/** Undefined while the process is down, or for an answer that says no. */
export async function asked(url: string, init: RequestInit = {}): Promise<Response | undefined> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) });
    if (response.ok) return response;
    await response.arrayBuffer();
    return undefined;
  } catch {
    return undefined;
  }
}

/** Asks again until the answer is yes. */
export async function insist(url: string, over: AbortSignal, init: RequestInit = {}): Promise<void> {
  while (!over.aborted) {
    const answer = await asked(url, init);
    await answer?.arrayBuffer();
    if (answer) return;
    await delay(AGAIN_MS);
  }
}

export async function readState(agent: string): Promise<AgentState | undefined> {
  const answer = await asked(`${agent}/state`);
  return (await answer?.json().catch(() => undefined)) as AgentState | undefined;
}

export interface PeopleInit {
  readonly agent: string;
  readonly name: string;
  readonly outside: Outside;
  readonly telegram: FakeTelegram;
  readonly over: AbortSignal;
}

interface Decision {
  readonly executionId: string;
  readonly inputHash: string;
  readonly isApproved: boolean;
  sent: number;
}

export class People {
  /** How often a decision or a webhook was sent again. */
  sentAgain = 0;
  readonly #init: PeopleInit;
  readonly #decisions: Decision[] = [];
  readonly #page: ThinkClient;
  /** Of all rounds: their chats are apart. */
  static #nextChat = 1_000;
  readonly #chats = new Map<number, Job>();

  constructor(init: PeopleInit) {
    this.#init = init;
    this.#page = createThinkClient({ url: init.agent, WebSocket });
    init.over.addEventListener("abort", () => this.#page.close());
  }

  /** What the chats show. */
  get chats(): ChatRecord[] {
    return [...this.#chats].map(([chatId, job]) => ({ job, texts: this.#init.telegram.texts(chatId) }));
  }

  begin(job: Job): Promise<void> {
    const { agent, over } = this.#init;
    if (job.type === "chat") return this.#chat(job);
    return insist(`${agent}/begin?${new URLSearchParams({ ...job })}`, over);
  }

  /** Decides whatever waits, until the round is over. */
  async decide(): Promise<void> {
    const { agent, over } = this.#init;
    while (!over.aborted) {
      this.#decideInPage();
      const state = await readState(agent);
      for (const { executionId, inputHash, mayHaveRun, input } of state?.pending ?? []) {
        if (input.includes('"chat.')) continue;
        if (this.#decisions.some((one) => one.inputHash === inputHash && one.executionId === executionId)) continue;
        // A human looks first whether it was done.
        const isApproved = !mayHaveRun || !this.#isDone(input);
        this.#decisions.push({ executionId, inputHash, isApproved, sent: 0 });
      }
      await Promise.all(this.#decisions.filter(({ sent }) => sent < SENT).map((one) => this.#send(one)));
      await delay(LOOK_MS);
    }
  }

  /** Inline approvals: the page sends a decision again by itself when it has connected again. */
  #decideInPage(): void {
    for (const question of this.#page.getSnapshot().pendingApprovals) {
      if (question.executionId !== undefined) continue;
      void this.#page.approve(question).catch(() => undefined);
    }
  }

  async #send(decision: Decision): Promise<void> {
    const { executionId, inputHash, isApproved } = decision;
    const body = JSON.stringify({ decision: isApproved ? "approve" : "reject", inputHash });
    const headers = { "Content-Type": "application/json" };
    const url = `${this.#init.agent}/approvals/${executionId}`;
    const answer = await fetch(url, { method: "POST", headers, body }).catch(() => undefined);
    // A refusal is an answer, too.
    const text = await answer?.text().catch(() => undefined);
    if (text === undefined || answer === undefined || answer.status >= 500) return;
    decision.sent += 1;
    if (decision.sent > 1) this.sentAgain += 1;
  }

  #isDone(input: string): boolean {
    const id = /"id":"([\w.-]+)"/.exec(input)?.[1] ?? "";
    const { outside, name } = this.#init;
    return outside.of(name).some((one) => one.id === id && one.kind === "code, approved");
  }

  /** A user asks in a chat of its own, presses if there is a button, and waits for the answer. */
  async #chat(job: Job): Promise<void> {
    const { tool, id } = job;
    const { telegram, agent, over } = this.#init;
    const url = `http://localhost${new URL(agent).pathname}/messengers/telegram/webhook`;
    const chatId = People.#nextChat++;
    this.#chats.set(chatId, job);
    await this.#deliver(telegram.says(`Do ${tool} ${id}`, { url, chatId }));
    const messages = () => telegram.messages(chatId);
    if (tool === "parked") {
      await until(() => messages().some(({ buttons }) => buttons.includes("Approve")), over);
      if (over.aborted) return;
      await this.#deliver(telegram.presses("Approve", { url, chatId }));
      await until(() => messages().every(({ buttons }) => buttons.length === 0), over);
    }
    await until(() => messages().some(({ text }) => text.startsWith(answerTo(id))), over);
  }

  /** As a provider does: again, until it has an answer; and then once more. */
  async #deliver(webhook: Request): Promise<void> {
    const { agent, over } = this.#init;
    const headers = webhook.headers;
    const body = await webhook.text();
    for (let times = 0; times < 2; times += 1) {
      await insist(`${new URL(agent).origin}${new URL(webhook.url).pathname}`, over, { method: "POST", headers, body });
    }
    this.sentAgain += 1;
  }
}

async function until(isSo: () => boolean, over: AbortSignal): Promise<void> {
  while (!over.aborted && !isSo()) await delay(AGAIN_MS);
}
