// A turn engine on a real journal, with messages in memory and hooks that a test can watch. A restart is a new engine
// on the same database and messages.
import { DatabaseSync } from "node:sqlite";
import type { LanguageModel, ToolSet, UIMessage } from "ai";
import { Blobs } from "../host/blobs.ts";
import type { Clock } from "../host/ports.ts";
import { Conversation } from "../journal/conversation.ts";
import { openJournal, type Journal } from "../journal/journal.ts";
import { createTables, MemorySql } from "../journal/memory-sql.test-support.ts";
import { endInQuestion, installedSdk, isToolPart, toModelMessages, type ModelSettings } from "../model/index.ts";
import type { ChangeOrigin } from "../session/change-log.ts";
import { interruptedPart } from "../session/open-calls.ts";
import { Idempotency } from "../session/idempotency.ts";
import { TurnEngine } from "./engine.ts";
import type { FailureClass } from "../model/failure-classifier.ts";
import type { TurnHooks } from "./hooks.ts";
import type { RecoveryChoice, RecoveryIncident, RecoveryPolicy } from "./recovery.ts";
import type { Receipt } from "./receipts.ts";
import { retryAtOf } from "./retry-policy.ts";
import type { RepairedPrompt, Transcript } from "../session/transcript.ts";
import type { TurnOutcome, TurnView } from "./turn.ts";

export class MemoryTranscript implements Transcript {
  readonly #messages = new Map<string, { message: UIMessage; parent: string | null }>();
  leaf: string | null = null;

  get leafId(): string | null {
    return this.leaf;
  }

  get(messageId: string): UIMessage | undefined {
    return this.#messages.get(messageId)?.message;
  }

  has(messageId: string): boolean {
    return this.#messages.has(messageId);
  }

  storedOf(messageIds: readonly string[]): ReadonlySet<string> {
    return new Set(messageIds.filter((id) => this.has(id)));
  }

  append(message: UIMessage, _origin: ChangeOrigin, parentId: string | null = this.leaf): boolean {
    if (this.has(message.id)) return false;
    this.#messages.set(message.id, { message, parent: parentId });
    this.leaf = message.id;
    return true;
  }

  update(message: UIMessage): void {
    const stored = this.#messages.get(message.id);
    if (stored) stored.message = message;
  }

  path(leafId: string | null = this.leaf): UIMessage[] {
    const path: UIMessage[] = [];
    for (let id: string | null = leafId; id !== null;) {
      const stored = this.#messages.get(id);
      if (!stored) break;
      path.unshift(stored.message);
      id = stored.parent;
    }
    return path;
  }

  prompt(leafId: string | undefined): RepairedPrompt {
    return { messages: this.path(leafId), changed: [], repairs: { removedToolCalls: 0, normalizedInputs: 0 } };
  }

  repair(): void {}

  messageOfCall(toolCallId: string): UIMessage | undefined {
    const holds = ({ parts }: UIMessage) => parts.some((part) => isToolPart(part) && part.toolCallId === toolCallId);
    return [...this.#messages.values()].map(({ message }) => message).findLast(holds);
  }

  clear(): void {
    this.#messages.clear();
    this.leaf = null;
  }
}

export interface WorldInit {
  /** A promise holds the turn back before its stream, as a slow hook of the user does. */
  model: () => LanguageModel | Promise<LanguageModel>;
  tools?: ToolSet;
  settings?: ModelSettings;
  respond?: (turn: TurnView, outcome: TurnOutcome) => Promise<void>;
  beforeToolCall?: TurnHooks["beforeToolCall"];
  stall?: { timeoutMs: number; includesTools?: boolean };
  maxTokens?: number;
  maxAnswerBytes?: number;
  recovery?: Partial<RecoveryPolicy>;
  recover?: (turn: TurnView, incident: RecoveryIncident) => Promise<Partial<RecoveryChoice>>;
  keepsRecovering?: TurnHooks["keepsRecovering"];
  repairPart?: TurnHooks["repairPart"];
  describeFailure?: TurnHooks["describeFailure"];
  classifyFailure?: (error: unknown) => FailureClass | undefined;
  overflowRetries?: number;
  compact?: () => boolean;
  /** Resolves when what was written would survive. */
  durable?: () => Promise<void>;
}

const POLICY: RecoveryPolicy = {
  enabled: true,
  maxAttempts: 10,
  noProgressTimeoutMs: 300_000,
  maxRecoveryWork: 10_000,
  maxInterruptedAttempts: 5,
  terminalMessage: "gave up"
};

type Heard =
  | { what: "accepted" | "streaming" | "interrupted"; turn: TurnView }
  | { what: "chunk"; turn: TurnView; seq: number; body: string }
  | { what: "settled"; turn: TurnView; outcome: TurnOutcome }
  | { what: "updated"; message: UIMessage }
  | { what: "receipt"; receipt: Receipt }
  | { what: "transcript" | "cleared" };

export class World {
  readonly transcript = new MemoryTranscript();
  readonly database = new DatabaseSync(":memory:");
  readonly heard: Heard[] = [];
  readonly clock = new SkippingClock();
  readonly hooksCalled: string[] = [];
  readonly incidents: RecoveryIncident[] = [];
  /** The platform refuses the wake that must be armed before a turn runs. */
  failsToStayAlive = false;
  readonly #init: WorldInit;
  #ids = 0;
  conversation!: Conversation;
  journal!: Journal;
  engine!: TurnEngine;

  constructor(init: WorldInit) {
    this.#init = init;
    createTables(new MemorySql(this.database));
    this.boot();
  }

  /** A new process on what is stored. What the old one was doing goes on unheard. */
  boot(): void {
    const sql = new MemorySql(this.database);
    this.conversation = new Conversation(sql);
    const journal = (this.journal = openJournal({
      sql,
      blobs: new Blobs(sql),
      conversation: this.conversation
    }));
    this.engine = new TurnEngine({
      allowsPrivateNames: false,
      conversation: this.conversation,
      journal,
      transcript: this.transcript,
      idempotency: new Idempotency(sql),
      hooks: this.#hooks(),
      sdk: installedSdk(),
      clock: this.clock,
      ids: { next: () => `id-${++this.#ids}`, random: () => 0.5 },
      emit: () => undefined,
      durable: async () => this.#init.durable?.(),
      background: (work) => void work.catch((error: unknown) => console.error(error)),
      keepAlive: async (work) => {
        if (this.failsToStayAlive) throw new Error("the root is unreachable");
        return work();
      }
    });
    this.engine.listen({
      accepted: (turn) => void this.heard.push({ what: "accepted", turn }),
      streaming: (turn) => void this.heard.push({ what: "streaming", turn }),
      chunk: (turn, chunk) => void this.heard.push({ what: "chunk", turn, ...chunk }),
      interrupted: (turn) => void this.heard.push({ what: "interrupted", turn }),
      settled: (turn, outcome) => void this.heard.push({ what: "settled", turn, outcome }),
      receipt: (receipt) => void this.heard.push({ what: "receipt", receipt }),
      messageUpdated: (message) => void this.heard.push({ what: "updated", message }),
      transcriptChanged: () => void this.heard.push({ what: "transcript" }),
      cleared: () => void this.heard.push({ what: "cleared" })
    });
  }

  /** When the oldest open turn is tried again; 0: at once. */
  get retryAt(): number {
    const [open] = this.conversation.row.openTurns;
    const fold = open && this.journal.folds.get(open.turnId);
    return (fold && retryAtOf(fold)) ?? 0;
  }

  chunks(requestId: string): { seq: number; body: string }[] {
    return this.heard.flatMap((one) =>
      one.what === "chunk" && one.turn.requestId === requestId ? [{ seq: one.seq, body: one.body }] : []
    );
  }

  texts(): string[] {
    return this.transcript.path().map(textOf);
  }

  #hooks(): TurnHooks {
    const init = this.#init;
    const called = (name: string) => void this.hooksCalled.push(name);
    return {
      async assemble(turn, history) {
        called(`assemble:${turn.requestId}`);
        const tools = init.tools ?? {};
        return {
          model: await init.model(),
          system: "You are a test.",
          messages: endInQuestion(await toModelMessages(installedSdk(), history, { tools })),
          tools,
          settings: { maxRetries: 0, ...init.settings },
          maxSteps: 10,
          sendReasoning: true,
          sendUsage: false,
          stall: { timeoutMs: 0, includesTools: false, ...init.stall },
          maxTokens: init.maxTokens ?? Infinity,
          modelHooks: {}
        };
      },
      beforeToolCall: async (turn, call) => {
        called(`before:${call.toolName}`);
        return init.beforeToolCall?.(turn, call);
      },
      afterToolCall: async (_turn, call) => called(`after:${call.toolName}:${call.success}`),
      describeFailure: init.describeFailure ?? ((_error, { stage }) => `failed in ${stage}`),
      classifyFailure: (error) => init.classifyFailure?.(error),
      retryAfterMs: () => undefined,
      maxAnswerBytes: init.maxAnswerBytes ?? Infinity,
      recovery: { ...POLICY, ...init.recovery },
      recover: async (turn, incident) => {
        called(`recover:${incident.recoveryKind}:${incident.attempt}`);
        this.incidents.push(incident);
        return { persist: true, continue: true, ...(await init.recover?.(turn, incident)) };
      },
      keepsRecovering: async (turn, incident) => init.keepsRecovering?.(turn, incident) ?? true,
      exhausted: async (_turn, { reason }) => called(`exhausted:${reason}`),
      repairPart: (part) => init.repairPart?.(part) ?? interruptedPart(part),
      toolKind: (name) => {
        const own = init.tools?.[name];
        return own && (own.execute === undefined ? "client" : "server");
      },
      overflowRetries: init.overflowRetries ?? 0,
      compact: async (_turn, attempt) => {
        called(`compact:${attempt}`);
        return init.compact?.() ?? true;
      },
      wantsResponse: init.respond !== undefined,
      respond: async (turn, outcome) => {
        called(`respond:${turn.requestId}:${outcome.status}`);
        await init.respond?.(turn, outcome);
      },
      runIn: (_turn, work) => work()
    };
  }
}

/** Real time, which a test can skip. */
export class SkippingClock implements Clock {
  readonly #sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();
  #skippedMs = 0;

  now(): number {
    return Date.now() + this.#skippedMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const sleeper = { at: this.now() + ms, wake: () => wake() };
      const timer = setTimeout(() => wake(), ms);
      const wake = () => {
        clearTimeout(timer);
        this.#sleepers.delete(sleeper);
        resolve();
      };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        this.#sleepers.delete(sleeper);
        reject(signal.reason);
      });
    });
  }

  get sleepers(): number {
    return this.#sleepers.size;
  }

  skip(ms: number): void {
    this.#skippedMs += ms;
    for (const sleeper of this.#sleepers) if (sleeper.at <= this.now()) sleeper.wake();
  }
}

export function user(id: string, text = id): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

export function assistant(id: string, text = id): UIMessage {
  return { id, role: "assistant", parts: [{ type: "text", text, state: "done" }] };
}

export function textOf(message: UIMessage): string {
  return `${message.role}:${message.parts.map((part) => (part.type === "text" ? part.text : "")).join("")}`;
}
