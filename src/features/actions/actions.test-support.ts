// A small world for the tests of actions: one database and one virtual clock that outlive processes, a runtime per process,
// a transcript in the same database, and counted side effects. A process can die at any write or inside any await.
import type { ModelMessage, ToolSet } from "ai";
import { asSchema } from "ai";
import { Blobs } from "../../host/blobs.ts";
import type { Clock } from "../../host/ports.ts";
import { openQuarantine } from "../../host/quarantine.ts";
import { createTables, MemorySql, type SqliteDatabase } from "../../journal/memory-sql.test-support.ts";
import { authorizeByGrant } from "../../feature/approval-contract.ts";
import type {
  ActionGrant,
  ActionOutput,
  ActionSet,
  ApprovalDecision,
  PendingApproval
} from "../../feature/approval-contract.ts";
import { openSdk } from "../../model/index.ts";
import * as ai from "ai";
import { ATTACHMENT_TABLES } from "./attachments.ts";
import { WORK_TABLES } from "../../work/work-table.ts";
import { LEDGER_TABLES } from "./action-tables.ts";
import { Deciding } from "../approvals/deciding.ts";
import type { ApprovalMembers } from "../approvals/capability.ts";
import type { ActionMembers } from "./capability.ts";
import { isPausedOutput } from "./parked.ts";
import { RESULT_TABLES } from "./results.ts";
import { ActionRuntime, type ActionsHost, type CompiledActions } from "./runtime.ts";

const TABLES = [
  "CREATE TABLE test_calls (tool_call_id TEXT PRIMARY KEY, state TEXT, output TEXT)",
  "CREATE TABLE test_turns (execution_id TEXT)",
  "CREATE TABLE test_notes (text TEXT)"
];

export const START_MS = Date.UTC(2030, 0, 1);
type ActionOverrides = ActionMembers & ApprovalMembers;

const SETTINGS = {
  actionLedgerPendingRetryLeaseMs: 300_000,
  actionLedgerRetention: {},
  actionPendingApprovalTtlMs: 30 * 24 * 60 * 60 * 1000
};

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

/** As the agent's default. */
const KEEP_ALIVE_MS = 30_000;

export type HostOverrides = Partial<Pick<ActionOverrides, "authorizeAction" | "authorizeApproval">> & {
  readonly settings?: Partial<ActionOverrides>;
  /** What says in a chat that a question is escalated. */
  readonly escalated?: () => Promise<void>;
};

/** What outlives processes. */
export class World {
  nowMs = START_MS;
  /** Side effects by name. */
  readonly effects: Record<string, number> = {};
  readonly events: { type: string; payload: unknown }[] = [];
  readonly database: SqliteDatabase;
  timers: Timer[] = [];
  ids = 0;
  /** Messages still being written: outcomes cannot be placed in them. */
  unstored = new Set<string>();

  constructor(database: SqliteDatabase) {
    this.database = database;
    const sql = new MemorySql(database);
    createTables(sql);
    for (const statement of TABLES) sql.run(statement);
    for (const tables of [LEDGER_TABLES, WORK_TABLES, RESULT_TABLES, ATTACHMENT_TABLES]) sql.catalog.make(tables);
  }

  count(effect: string): number {
    this.effects[effect] = (this.effects[effect] ?? 0) + 1;
    return this.effects[effect];
  }

  rows<Row extends object = Record<string, unknown>>(query: string): Row[] {
    return new MemorySql(this.database).all<Row>(query);
  }

  sql(query: string, ...values: (string | number | null)[]): void {
    new MemorySql(this.database).run(query, ...values);
  }

  eventTypes(): string[] {
    return this.events.map((event) => event.type);
  }

  /** Lets everything run that can, then moves time timer by timer. */
  async advance(ms: number): Promise<void> {
    const until = this.nowMs + ms;
    await settle();
    for (;;) {
      const next = this.timers.filter((timer) => timer.at <= until).toSorted((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.timers.splice(this.timers.indexOf(next), 1);
      this.nowMs = Math.max(this.nowMs, next.at);
      next.fire();
      await settle();
    }
    this.nowMs = until;
  }
}

/** Long enough for any chain of promises of ours: nothing here waits for real time. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 60; turn++) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
}

export interface CallInit {
  readonly toolCallId?: string;
  readonly turnId?: string;
  readonly messages?: ModelMessage[];
  readonly signal?: AbortSignal;
  readonly grant?: ActionGrant;
}

export class Process {
  readonly world: World;
  readonly sql: MemorySql;
  readonly actions: ActionRuntime;
  readonly background: Promise<unknown>[] = [];
  rearmed = 0;
  #isAlive = true;
  readonly #actions: () => ActionSet;
  readonly #deciding: Deciding;

  constructor(world: World, actions: () => ActionSet, overrides: HostOverrides = {}) {
    this.world = world;
    this.#actions = actions;
    this.sql = new MemorySql(world.database);
    const host = this.#host(overrides);
    this.actions = new ActionRuntime(host);
    this.#deciding = new Deciding(host);
  }

  pending(executionId?: string): PendingApproval[] {
    return this.actions.approvals.questions(executionId);
  }

  approve(executionId: string, decision?: ApprovalDecision): Promise<ActionOutput> {
    return this.#deciding.decide(this.actions.approvals, executionId, { ...decision, isApproved: true });
  }

  reject(executionId: string, decision?: ApprovalDecision & { readonly reason?: string }): Promise<ActionOutput> {
    return this.#deciding.decide(this.actions.approvals, executionId, { ...decision, isApproved: false });
  }

  /** Nothing of it happens any more: its timers are gone, its storage refuses. */
  kill(): void {
    this.#isAlive = false;
    this.world.timers = this.world.timers.filter((timer) => !this.#timers.has(timer));
    this.sql.crashAtWrite(1);
    try {
      this.sql.run("SELECT 1");
    } catch {
      // That was the crash.
    }
  }
  readonly #timers = new Set<Timer>();

  compile(init: CallInit = {}): CompiledActions {
    const { turnId = "turn-1", signal = new AbortController().signal, grant = { allowed: true } } = init;
    return this.actions.compile(
      {
        turnId,
        requestId: `request-of-${turnId}`,
        messageId: `message-of-${turnId}`,
        signal,
        grant: () => grant
      },
      this.#actions()
    );
  }

  /** Makes a call and records its outcome, as the engine does. */
  async call(name: string, input: unknown, init: CallInit = {}): Promise<unknown> {
    const { toolCallId = "call-1", messages = [], signal } = init;
    this.sql.run("INSERT OR REPLACE INTO test_calls VALUES (?, 'open', NULL)", toolCallId);
    const output = await executeTool(this.compile(init).tools, name, { input, toolCallId, messages, signal });
    const state = isPausedOutput(output) ? "paused" : "resolved";
    this.sql.run(
      "UPDATE test_calls SET state = ?, output = ? WHERE tool_call_id = ?",
      state,
      JSON.stringify(output) ?? null,
      toolCallId
    );
    return output;
  }

  /** When the agent is woken: as long as work runs in it, it is kept alive by wakes. */
  nextWake(): number | null {
    const wake = this.actions.nextWake();
    return this.#running === 0 ? wake : Math.min(wake ?? Infinity, this.world.nowMs + KEEP_ALIVE_MS);
  }

  async #keptAlive<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    return work().finally(() => (this.#running -= 1));
  }
  #running = 0;

  /** A wake of a process that has started. */
  async wake(): Promise<void> {
    this.actions.ready();
    await this.actions.runDue();
    await Promise.all(this.background);
  }

  /** Everything it does by itself at a start. */
  async resume(): Promise<void> {
    this.actions.ready();
    await Promise.all(this.background);
    await settle();
  }

  #host(overrides: HostOverrides): ActionsHost {
    const { world, sql } = this;
    const clock: Clock = { now: () => world.nowMs, sleep: (ms, signal) => this.#sleep(ms, signal) };
    return {
      sql,
      blobs: new Blobs(sql),
      clock,
      ids: { next: () => `id-${++world.ids}`, random: () => 0.5 },
      quarantine: openQuarantine(
        sql,
        () => world.nowMs,
        () => undefined
      ),
      emit: (type, payload) => {
        if (this.#isAlive) world.events.push({ type, payload });
      },
      env: { NAME: "the environment" },
      agent: {
        name: "the agent",
        ...SETTINGS,
        ...overrides.settings,
        getActions: () => this.#actions(),
        authorizeAction: overrides.authorizeAction ?? authorizeByGrant,
        authorizeApproval: overrides.authorizeApproval ?? (() => true)
      },
      validate: (schema, value) => sdk.validateInput(schema, value),
      conversation: this.#conversation(),
      inAgent: (work) => this.#keptAlive(work),
      background: (work) => void this.background.push(work.catch(() => undefined)),
      rearm: () => void (this.rearmed += 1),
      actionFailed: () => undefined,
      overrides: { authorizeTurn: () => true },
      // It is asked for this role only.
      features: { role: () => overrides.escalated as never },
      isOverridden: () => false
    };
  }

  #conversation(): ActionsHost["conversation"] {
    const { sql, world } = this;
    const stateOf = (toolCallId: string) =>
      sql.one<{ state: "open" | "paused" | "resolved" }>(
        "SELECT state FROM test_calls WHERE tool_call_id = ?",
        toolCallId
      )?.state;
    return {
      atomically: (work) => sql.transaction(work),
      outputState: ({ toolCallId }) => stateOf(toolCallId) ?? "gone",
      outputStates:
        () =>
        ({ toolCallId }) =>
          stateOf(toolCallId) ?? "gone",
      replaceOutput: ({ toolCallId, messageId }, output) => {
        const state = stateOf(toolCallId);
        if (state === undefined) return "gone";
        if (state === "resolved") return "already-resolved";
        if (state === "open" || world.unstored.has(messageId)) return "not-yet";
        sql.run(
          "UPDATE test_calls SET state = 'resolved', output = ? WHERE tool_call_id = ?",
          JSON.stringify(output) ?? null,
          toolCallId
        );
        return "replaced";
      },
      continueTurn: ({ executionId }) => void sql.run("INSERT INTO test_turns VALUES (?)", executionId),
      note: (text) => void sql.run("INSERT INTO test_notes VALUES (?)", text)
    };
  }

  #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer: Timer = { at: this.world.nowMs + ms, fire: resolve };
      this.#timers.add(timer);
      this.world.timers.push(timer);
      signal?.addEventListener("abort", () => {
        this.world.timers = this.world.timers.filter((other) => other !== timer);
        reject(signal.reason);
      });
    });
  }
}

const sdk = openSdk(ai);

/** Calls a tool the way the SDK does: with what the schema made of the input. */
export async function executeTool(
  tools: ToolSet,
  name: string,
  call: { input: unknown; toolCallId: string; messages: ModelMessage[]; signal?: AbortSignal | undefined }
): Promise<unknown> {
  const tool = tools[name];
  if (!tool?.execute) throw new Error(`There is no tool "${name}".`);
  const checked = await asSchema(tool.inputSchema).validate?.(call.input);
  if (checked && !checked.success) throw checked.error;
  const options = {
    toolCallId: call.toolCallId,
    messages: call.messages,
    abortSignal: call.signal,
    context: undefined
  };
  return tool.execute(checked ? checked.value : call.input, options);
}
