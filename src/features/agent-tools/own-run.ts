// The child's side: a run that a parent asked for is one turn of this agent, known by the parent's run id. The row and the
// turn are accepted in one transaction, so that the same run never starts twice; how the turn ended is written to the row
// when user code has said what came of it, and found again after a crash. A parent reads, it never holds a stream open.
import type { UIMessage } from "ai";
import { Cached } from "../../host/cached.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import type { ChatServices } from "../../feature/services.ts";
import { checkMessages } from "../../feature/turn-input.ts";
import { isAnsweredElsewhere, rootOf, type TurnOutcome, type TurnView } from "../../turn/turn.ts";
import { byteLength, encodeText } from "../../util/bytes.ts";
import { AWAITING_BUDGET, type BudgetHeir } from "../../feature/budget-contract.ts";
import { errorMessage } from "../../util/errors.ts";
import { agentToolErrors } from "./errors.ts";
import { parseJson, stringifyJson } from "../../util/json.ts";
import { ok } from "../../util/result.ts";
import { SETTLED } from "../../work/kind.ts";
import { Work } from "../../work/work.ts";
import { abortReasonText, cutText, MAX_WAIT_MS, RUN_OUTPUT_LIMIT_BYTES, type AgentToolValue } from "./run.ts";
import type { ChildRunMembers } from "./capability.ts";
import type { ChildRuns } from "./child-runs.ts";
import { RunStream } from "./run-stream.ts";
import { CHILD_BACKOFF } from "./ports.ts";
import { GivenSteers, type PassedMessage } from "./given-steers.ts";
import type { AgentToolRunInspection, RunProgress } from "./run-progress.ts";

export const OWN_RUN_TABLES: readonly TableDefinition[] = [
  // Bound: one row per run that parents asked of this agent, which is one for a child of theirs. Deleted: with the agent.
  {
    name: "cf_own_runs",
    create: [
      `CREATE TABLE cf_own_runs (
        run_id TEXT PRIMARY KEY,
        request_id TEXT NOT NULL,
        turn_id TEXT NOT NULL,
        message_id TEXT,
        status TEXT NOT NULL,
        output TEXT,
        summary TEXT,
        error TEXT,
        tokens INTEGER NOT NULL DEFAULT 0,
        max_tokens INTEGER,
        started_at INTEGER NOT NULL,
        completed_at INTEGER
      ) WITHOUT ROWID`
    ]
  }
];

interface OwnRunRow {
  readonly run_id: string;
  readonly request_id: string;
  readonly turn_id: string;
  readonly message_id: string | null;
  readonly status: AgentToolRunInspection["status"];
  readonly output: string | null;
  readonly summary: string | null;
  readonly error: string | null;
  readonly tokens: number;
  readonly max_tokens: number | null;
  readonly started_at: number;
  readonly completed_at: number | null;
}

const SKIPPED = "Agent tool run was skipped before the child could finish.";
const LOST = "The run was interrupted before the child could finish.";
const NO_OUTPUT = "The run's output could not be read.";
const NOT_GRANTED = "The run needed more budget, which was not granted.";
const LARGE_OUTPUT = "The run's output is too large.";

export class OwnRuns {
  readonly #services: ChatServices;
  /** The runs of this agent's own children. */
  readonly #children: ChildRuns;
  readonly #table: TableSet;
  readonly #steers: GivenSteers;
  readonly #stream: RunStream;
  readonly #running: Cached<readonly OwnRunRow[]>;
  readonly #ending = new Map<string, Promise<void>>();
  /** Ends that an earlier process did not write, or that could not be written. The key of an item is the run's id. */
  readonly work: Work<null>;
  /** Runs whose input is being read: they have no row yet, and may be stopped all the same. */
  readonly #starting = new Map<string, { isStopped: boolean }>();

  constructor(services: ChatServices, children: ChildRuns) {
    const { sql } = services;
    this.#services = services;
    this.#children = children;
    this.work = new Work(services, {
      name: "agent-tool-own-run",
      codec: { encode: () => null, decode: () => ok(null) },
      retry: { backoff: CHILD_BACKOFF },
      // One that hangs holds up no other.
      concurrency: Infinity,
      retentionMs: 0,
      run: async ({ key }) => {
        const row = this.#row(key);
        if (!row || !this.#isCutOff(row)) return SETTLED;
        const ending = this.#reconcile(row);
        // Logs why it failed.
        services.background(ending);
        await ending;
        return SETTLED;
      }
    });
    this.#table = new TableSet(sql, OWN_RUN_TABLES);
    this.#steers = new GivenSteers(services);
    this.#stream = new RunStream(services, (runId) => this.#row(runId));
    this.#running = new Cached(sql, () =>
      this.#table.all<OwnRunRow>("SELECT * FROM cf_own_runs WHERE status = 'running'")
    );
  }

  /** The class's methods. */
  get #agent(): ChildRunMembers {
    // Every agent that opens it has them.
    return this.#services.agent as ChildRunMembers;
  }

  has(runId: string): boolean {
    return this.#starting.has(runId) || this.#row(runId) !== undefined;
  }

  /** Durable when it resolves. A known run is not started again. Null: it was stopped before it began. */
  async start(
    input: unknown,
    { runId, maxTokens, limits }: { runId: string; maxTokens?: number; limits?: object }
  ): Promise<RunProgress["run"]> {
    if (!this.#row(runId)) {
      // Before anything is spent. An agent that runs for a parent runs for this one only.
      if (limits) inheritLimits(this.#services.agent, limits);
      const starting = this.#starting.get(runId) ?? { isStopped: false };
      this.#starting.set(runId, starting);
      try {
        const message = await this.#firstMessage(input);
        if (!starting.isStopped) this.#admit(runId, message, maxTokens);
      } finally {
        this.#starting.delete(runId);
      }
    }
    return this.inspect(runId);
  }

  /** User code: it takes its time, and may never return. */
  async #firstMessage(input: unknown): Promise<UIMessage> {
    const formatted = await this.#agent.formatAgentToolInput(input);
    const message: unknown =
      typeof formatted === "string"
        ? { id: this.#services.ids.next(), role: "user", parts: [{ type: "text", text: formatted }] }
        : formatted;
    return checkedMessage(message);
  }

  /** Formatting takes its time: another call may have started it meanwhile. */
  #admit(runId: string, message: UIMessage, maxTokens: number | undefined): void {
    const { turns, ids, clock, sql } = this.#services;
    if (this.#row(runId)) return;
    const requestId = ids.next();
    this.#stream.begin(requestId);
    sql.transaction(() => {
      const { turnId } = turns.admit({
        requestId,
        trigger: "agent-tool",
        input: [message],
        body: turns.body,
        clientTools: turns.clientTools
      });
      const limit = maxTokens === undefined || !Number.isFinite(maxTokens) ? null : Math.max(0, Math.floor(maxTokens));
      this.#table.run(
        "INSERT INTO cf_own_runs (run_id, request_id, turn_id, status, max_tokens, started_at) VALUES (?, ?, ?, 'running', ?, ?)",
        ...[runId, requestId, turnId, limit, clock.now()]
      );
    });
    this.#running.drop();
  }

  /** Null: there is no such run. One whose turn is over without a word in the row is settled first. */
  async inspect(runId: string): Promise<AgentToolRunInspection | null> {
    const row = this.#row(runId);
    if (row && this.#isCutOff(row)) await this.#reconcile(row);
    const known = row && this.#row(runId);
    return known ? this.#inspection(known) : null;
  }

  /** Stops the run, wherever its turn is. Nothing for one that is over or unknown. */
  async cancel(runId: string, reason?: string): Promise<void> {
    const starting = this.#starting.get(runId);
    if (starting) starting.isStopped = true;
    const row = this.#row(runId);
    if (row?.status !== "running") return;
    this.#table.change("UPDATE cf_own_runs SET error = ? WHERE run_id = ? AND error IS NULL", reason ?? null, runId);
    this.#services.turns.cancel(row.request_id, reason);
    this.#services.features.role("budgets")?.dropQuestion(row.turn_id);
    if (this.#isCutOff(row)) await this.#reconcile(row);
  }

  /** Gives a message of the parent to the run's turn. False: it takes none, now or for good, and never had this one. */
  async steer(runId: string, message: PassedMessage): Promise<boolean> {
    const row = this.#row(runId);
    return row ? this.#steers.take(row, message) : false;
  }

  /** What came after a chunk; waits for it so long. */
  async read(runId: string, options: { afterSequence?: number; waitMs?: number } = {}): Promise<RunProgress> {
    const { afterSequence = -1, waitMs = 0 } = options;
    const known = this.#row(runId);
    if (!known) return { run: null, chunks: [], more: false, idleMs: 0 };
    if (known.status === "running" && waitMs > 0) await this.#stream.untilNew(runId, afterSequence, waitMs);
    // First the state: everything that a finished run has streamed is then there.
    const run = await this.inspect(runId);
    const row = this.#row(runId) ?? known;
    const { chunks, more } = this.#stream.chunks(row, afterSequence, run?.status === "running");
    return { run, chunks, more, idleMs: this.#idleMs(row) };
  }

  /** The stored chunks after a cursor, and those that follow, as lines of JSON; ends with the run. Leaving it does not stop the run. */
  tail(runId: string, { afterSequence = -1 }: { afterSequence?: number } = {}): ReadableStream<Uint8Array> {
    let after = afterSequence;
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          for (;;) {
            const { run, chunks, more } = await this.read(runId, { afterSequence: after, waitMs: MAX_WAIT_MS });
            for (const chunk of chunks) controller.enqueue(encodeText(`${JSON.stringify(chunk)}\n`));
            after = chunks.at(-1)?.sequence ?? after;
            if (run?.status !== "running" && !more) return controller.close();
            if (chunks.length > 0) return;
          }
        }
      },
      { highWaterMark: 0 }
    );
  }

  // ── Life of the agent ──

  settled(turn: TurnView, outcome: TurnOutcome): void {
    const { trigger, requestId } = rootOf(turn);
    if (trigger !== "agent-tool" || isAnsweredElsewhere(outcome)) return;
    const row = this.#running.value.find(({ request_id }) => request_id === requestId);
    if (!row) return;
    this.#steers.leave(row);
    if (outcome.reason === AWAITING_BUDGET && this.#waitingFor(row) !== undefined) return;
    this.#services.background(this.#end(row, outcome));
  }

  /** A person has granted what its turn waited for: another turn is the run from now on. Part of that transaction. */
  goesOn(turnId: string, next: { readonly turnId: string; readonly requestId: string }): void {
    const row = this.#running.value.find(({ turn_id }) => turn_id === turnId);
    if (!row) return;
    this.#stream.goesOn(row, next.requestId);
    this.#table.change(
      "UPDATE cf_own_runs SET request_id = ?, turn_id = ? WHERE run_id = ?",
      ...[next.requestId, next.turnId, row.run_id]
    );
    this.#running.drop();
  }

  /** What its turn waited for was not granted: the run ends. */
  notGranted(turnId: string): void {
    const row = this.#table.exists ? this.#running.value.find(({ turn_id }) => turn_id === turnId) : undefined;
    if (row && this.#isCutOff(row)) this.#services.background(this.#reconcile(row));
  }

  #waitingFor({ turn_id }: OwnRunRow): string | undefined {
    return this.#services.features.role("budgets")?.waitingFor(turn_id);
  }

  /** A crash came between the end of a turn and the word in its row. */
  adopt(): void {
    if (!this.#table.exists) return;
    const left = this.#running.value.filter((row) => this.#isCutOff(row));
    for (const row of left) this.#steers.leave(row);
    for (const { run_id: key } of left) this.work.addOrHold({ key, payload: null });
    this.work.start();
  }

  /** What a turn of a run may use, from its parent's budget. */
  tokenLimit(requestId: string): number | undefined {
    if (!this.#table.exists) return undefined;
    return this.#running.value.find((row) => row.request_id === requestId)?.max_tokens ?? undefined;
  }

  /** Its turn is over, and its row does not say so. */
  #isCutOff(row: OwnRunRow): boolean {
    const isOver = row.status === "running" && !this.#services.turns.isChainOpen(row.turn_id);
    return isOver && this.#waitingFor(row) === undefined;
  }

  #reconcile(row: OwnRunRow): Promise<void> {
    const outcome = this.#services.turns.outcomeOf(row.request_id);
    return this.#end(row, outcome ?? { status: "error", error: LOST, streamed: false });
  }

  /** Once at a time: user code is asked what came of the run. */
  #end(row: OwnRunRow, outcome: TurnOutcome): Promise<void> {
    const { run_id: key } = row;
    const ending = this.#ending.get(key) ?? this.#endOnce(row, outcome).finally(() => this.#ending.delete(key));
    this.#ending.set(key, ending);
    return ending;
  }

  async #endOnce(row: OwnRunRow, outcome: TurnOutcome): Promise<void> {
    const { inAgent, clock } = this.#services;
    try {
      await inAgent(async () => this.#write(row, outcome, await this.#endOf(row, outcome)));
    } catch (error) {
      // Nothing for one that is an item already: that fails, too.
      this.work.addOrHold({ key: row.run_id, payload: null, dueAt: clock.now() + CHILD_BACKOFF.baseMs });
      throw error;
    }
  }

  async #endOf(
    row: OwnRunRow,
    outcome: TurnOutcome
  ): Promise<Pick<OwnRunEnd, "status" | "output" | "summary" | "error">> {
    const { status, reason } = outcome;
    if (status === "error") return { status, error: cutText(outcome.error ?? LOST) };
    if (status === "skipped" || reason === "cleared") return { status: "error", error: SKIPPED };
    // What the parent said when it stopped the run is in the row.
    const stopped = this.#row(row.run_id)?.error ?? undefined;
    if (status === "aborted") return { status, error: stopped ?? abortReasonText(reason) };
    if (reason === AWAITING_BUDGET) return { status: stopped ? "aborted" : "error", error: stopped ?? NOT_GRANTED };
    try {
      const output = (await this.#agent.getAgentToolOutput(row.run_id)) ?? outcome.output;
      const text = output === undefined ? null : (stringifyJson(output) ?? null);
      if (text !== null && byteLength(text) > RUN_OUTPUT_LIMIT_BYTES) return { status: "error", error: LARGE_OUTPUT };
      const said = await this.#agent.getAgentToolSummary(row.run_id, output);
      const summary = said ?? (answerText(outcome.message) || asText(output));
      return { status: "completed", output: text, summary: cutText(String(summary)) };
    } catch (error) {
      await this.#services.report(error);
      return { status: "error", error: NO_OUTPUT };
    }
  }

  #write(
    row: OwnRunRow,
    { message }: TurnOutcome,
    end: Pick<OwnRunEnd, "status" | "output" | "summary" | "error">
  ): void {
    const { clock } = this.#services;
    this.#table.change(
      `UPDATE cf_own_runs SET status = ?, output = ?, summary = ?, error = ?, message_id = ?, tokens = ?, completed_at = ?
       WHERE run_id = ? AND status = 'running'`,
      ...[end.status, end.output ?? null, end.summary ?? null, end.error ?? null, message?.id ?? null],
      ...[this.#tokens(row), clock.now(), row.run_id]
    );
    this.#running.drop();
    this.#stream.end(row.request_id);
  }

  #tokens({ run_id, request_id, turn_id }: OwnRunRow): number {
    return (
      this.#stream.earlierTokens(run_id) +
      this.#services.turns.usedTokens(request_id) +
      this.#children.tokensOf(turn_id)
    );
  }

  #inspection(row: OwnRunRow): AgentToolRunInspection {
    const output = row.output === null ? undefined : parseJson(row.output);
    const steers = this.#steers.read(row);
    return {
      runId: row.run_id,
      status: row.status,
      waitingFor: row.status === "running" ? this.#waitingFor(row) : undefined,
      requestId: row.request_id,
      // Parsed JSON.
      output: output?.ok ? (output.value as AgentToolValue) : undefined,
      summary: row.summary ?? undefined,
      error: row.error !== null && row.status !== "running" ? row.error : undefined,
      tokens: row.status === "running" ? this.#tokens(row) : row.tokens,
      startedAt: row.started_at,
      completedAt: row.completed_at ?? undefined,
      ...(steers.length > 0 && { steers })
    };
  }

  #row(runId: string): OwnRunRow | undefined {
    return this.#table.one<OwnRunRow>("SELECT * FROM cf_own_runs WHERE run_id = ?", runId);
  }

  #idleMs(row: OwnRunRow): number {
    const { clock } = this.#services;
    const activeAt = this.#stream.activeAt(row.request_id);
    return clock.now() - Math.max(activeAt, this.#children.activeAt, row.completed_at ?? row.started_at);
  }
}

/** Throws NotInheritedError: such a run could exceed what its parent may spend. */
function inheritLimits(agent: object, limits: object): void {
  const heir = agent as Partial<BudgetHeir>;
  if (!heir.inheritBudgets) throw agentToolErrors.NotInheritedError(agent.constructor.name);
  heir.inheritBudgets(limits);
}

interface OwnRunEnd {
  readonly status: AgentToolRunInspection["status"];
  readonly output?: string | null;
  readonly summary?: string;
  readonly error?: string;
}

/** The text of the answer, its parts joined by newlines. */
function answerText(message: UIMessage | undefined): string {
  const texts = message?.parts.flatMap((part) => (part.type === "text" && part.text !== "" ? [part.text] : [])) ?? [];
  return texts.join("\n");
}

function asText(output: unknown): string {
  return typeof output === "string" ? output : (stringifyJson(output) ?? "");
}

/** What `formatAgentToolInput` does by default. */
export function inputText(input: unknown): string {
  if (typeof input === "string") return input;
  try {
    return JSON.stringify(input, null, 2) ?? "";
  } catch (error) {
    throw new TypeError(`The input of an agent tool cannot be written as JSON: ${errorMessage(error)}`);
  }
}

function checkedMessage(given: unknown): UIMessage {
  const [message] = checkMessages([given]);
  if (!message) throw new TypeError("A message was expected.");
  return message;
}
