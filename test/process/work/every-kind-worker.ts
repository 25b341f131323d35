// An agent that does every kind of durable work at once, in a process that is killed. What its work does is counted outside of
// the process, which also says how each piece of it behaves: it takes long, throws, or hangs.
import { tool, type ToolSet } from "ai";
import {
  action,
  agentTool,
  Think,
  type AgentToolRunInfo,
  type ChatResponseResult,
  type ThinkSubmissionInspection
} from "everthink";
import { routeAgentRequest } from "everthink/agent";
import type { Connector } from "everthink/codemode";
import telegramMessenger from "everthink/messengers/telegram";
import { createExecuteTool } from "everthink/tools/execute";
import { z } from "zod";
import { everyKindModel } from "./every-kind-model.ts";
import { currentLife, runInstance, workflowBinding } from "./every-kind-workflow.ts";
import { placesOf, TASK_PROMPT_ID, type AgentState, type Instruction, type Job, type ShownCall } from "./jobs.ts";

interface Env {
  Everything: DurableObjectNamespace<Everything>;
  LOADER: WorkerLoader;
}

/** Before and after an effect it is time for a kill. */
const AROUND_MS = 20;
/** No promise hangs without a timer in workerd: it ends the request of one that does. */
const HANG_MS = 3_600_000;
const FIBER_STEPS = 3;
const NOT_COMPLETED = ["pending", "running", "error", "aborted", "skipped"] as const;

interface Told {
  readonly kind: string;
  readonly id: string;
  readonly phase: "begin" | "end";
  readonly key?: string;
}

async function tell(name: string, told: Told): Promise<Instruction> {
  const query = new URLSearchParams({ ...told, agent: name, life: currentLife() });
  const response = await fetch(`http://127.0.0.1:${placesOf(name).effectsPort}/effect?${query}`);
  return (await response.json()) as Instruction;
}

/** An effect: what it does is done when it was told to begin. */
async function perform(name: string, kind: string, id: string, key?: string): Promise<string> {
  await scheduler.wait(AROUND_MS);
  const { waitMs, then } = await tell(name, { kind, id, phase: "begin", ...(key !== undefined && { key }) });
  if (then === "hang") await scheduler.wait(HANG_MS);
  await scheduler.wait(AROUND_MS + waitMs);
  if (then === "throw") throw new Error(`${id} fails for once.`);
  await tell(name, { kind, id, phase: "end" });
  return `did ${id}`;
}

const input = z.object({ id: z.string() });
const query = z.object({ query: z.string() });

/** Quick restarts are what is tested: no attempt waits for the next one, none is given up. */
const RECOVERY = { maxAttempts: 1_000, maxInterruptedAttempts: 1_000, maxRecoveryWork: 1_000_000 };
const OPTIONS = { keepAliveIntervalMs: 300, hungScheduleTimeoutSeconds: 1 };

export class Helper extends Think<Env> {
  static override options = OPTIONS;
  override workspaceTools = false;
  override chatRecovery = RECOVERY;
  override getModel() {
    return everyKindModel();
  }
  override getTools(): ToolSet {
    const { name } = this.parentPath[0] ?? { name: "" };
    const execute = ({ id }: { id: string }) => perform(name, "work of a child", id);
    return { work: tool({ inputSchema: input, execute }) };
  }
}

type FiberContext = Parameters<Parameters<Think["startFiber"]>[1]>[0];
type RecoveryContext = Parameters<Think["onFiberRecovered"]>[0];

export class Everything extends Think<Env> {
  // Short, so that recovery by the alarm alone takes a moment and not half a minute.
  static override options = OPTIONS;
  override workspaceTools = false;
  override chatRecovery = RECOVERY;
  override maxSteps = 40;
  override actionLedgerPendingRetryLeaseMs = 300;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, { ...env, TRIAGE: workflowBinding() } as Env);
  }

  override onStart(): void {
    this.sql`CREATE TABLE IF NOT EXISTS accepted (id TEXT PRIMARY KEY)`;
  }

  override getModel() {
    return everyKindModel();
  }

  /** The chats are a part of the agent's own conversation. */
  override authorizeMessengerConversation() {
    return true;
  }

  // ── What a turn can do ──

  override getTools(): ToolSet {
    const described = { description: "Has a child do it.", inputSchema: query };
    return {
      tool: tool({ inputSchema: input, execute: ({ id }) => perform(this.name, "tool", id) }),
      research: agentTool(Helper, described),
      survey: agentTool(Helper, { ...described, detached: { onFinish: "onSurvey" } }),
      execute: createExecuteTool(this, { connectors: [this.#world()] })
    };
  }

  #world(): Connector {
    const execute =
      (kind: string) =>
      (args: unknown, { idempotencyKey }: { idempotencyKey: string }) =>
        perform(this.name, kind, input.parse(args).id, idempotencyKey);
    const tools = {
      repeatable: { onUnknownOutcome: "retry" as const, execute: execute("code, repeatable") },
      once: { execute: execute("code, once") },
      gated: { requiresApproval: true, execute: execute("code, approved") }
    };
    return { name: () => "world", tools: () => tools };
  }

  override getActions() {
    const described = { description: "Does it.", inputSchema: input };
    const idempotencyKey = ({ input: { id } }: { input: { id: string } }) => id;
    const execute =
      (kind: string) =>
      ({ id }: { id: string }) =>
        perform(this.name, kind, id);
    const parked = { ...described, kind: "durable-pause" as const };
    return {
      keyed: action({ ...described, idempotencyKey, execute: execute("action with a key") }),
      unkeyed: action({ ...described, execute: execute("action without a key") }),
      asked: action({ ...described, approval: true, execute: execute("inline approval") }),
      parked: action({ ...parked, execute: execute("paused action") }),
      parkedKeyed: action({ ...parked, idempotencyKey, execute: execute("paused action with a key") })
    };
  }

  override getMessengers() {
    const apiUrl = `http://127.0.0.1:${placesOf(this.name).telegramPort}`;
    const delivery = { editIntervalMs: () => 40, pace: [] };
    const common = { userName: "support_bot", conversation: "self" as const, debounceMs: 10, delivery, apiUrl };
    return { telegram: telegramMessenger({ ...common, token: "1:test", secretToken: "secret" }) };
  }

  // ── Hooks ──

  override async onChatResponse({ requestId }: ChatResponseResult) {
    await perform(this.name, "response hook", requestId);
  }

  override async onSubmissionStatus({ submissionId, status }: ThinkSubmissionInspection) {
    await tell(this.name, { kind: "submission status hook", id: `${submissionId} ${status}`, phase: "begin" });
  }

  override async onAgentToolFinish(run: AgentToolRunInfo) {
    await this.#finished("finish hook of a child", run);
  }

  async onSurvey(run: AgentToolRunInfo) {
    await this.#finished("method of a background child", run);
  }

  async #finished(kind: string, { runId, status, inputPreview = "" }: AgentToolRunInfo): Promise<void> {
    const job = /Do work ([\w.-]+)/.exec(inputPreview)?.[1] ?? "unknown";
    await perform(this.name, kind, `${job} ${runId} ${status}`);
  }

  override async onWorkflowComplete(_workflow: string, id: string) {
    await perform(this.name, "workflow hook", jobOf(id));
  }

  override getScheduledTasks() {
    const schedule = `every day at ${placesOf(this.name).minute} in UTC` as "every day at 00:00";
    const handler = async () => void (await perform(this.name, "scheduled task", "task.handler.slow"));
    return {
      handler: { schedule, handler },
      prompt: { schedule, prompt: `Do tool ${TASK_PROMPT_ID}` }
    };
  }

  // ── Callbacks ──

  async runQueued({ id }: { id: string }): Promise<void> {
    await perform(this.name, "queue", id);
  }

  /** Of a queue of its own: what hangs holds up what is behind it. */
  async runHanging(payload: { id: string }): Promise<void> {
    await this.runQueued(payload);
  }

  async runScheduled({ id }: { id: string }): Promise<void> {
    await perform(this.name, "one-shot schedule", id);
  }

  async tick(): Promise<void> {
    await perform(this.name, "interval", "interval");
  }

  async strike(): Promise<void> {
    await perform(this.name, "cron", "cron");
  }

  async runSteps(kind: string, id: string, { stash }: FiberContext, done = 0): Promise<void> {
    for (let step = done + 1; step <= FIBER_STEPS; step += 1) {
      await perform(this.name, kind, `${id}.step${step}`);
      stash({ kind, done: step });
    }
  }

  override async onFiberRecovered({ name, snapshot, metadata }: RecoveryContext) {
    await perform(this.name, "recovery hook of a fiber", `${name}.hook`);
    const { kind, done } = checkpoint(snapshot, metadata, "fiber");
    await this.runFiber(name, (fiber) => this.runSteps(kind, name, fiber, done));
    return { status: "completed" as const };
  }

  async resumeFiber(snapshot: unknown, { name }: RecoveryContext): Promise<void> {
    await perform(this.name, "recovery hook of a fiber", `${name}.hook`);
    const { kind, done } = checkpoint(snapshot, undefined, "fiber with a method");
    await this.runFiber(name, (fiber) => this.runSteps(kind, name, fiber, done), { onInterrupted: "resumeFiber" });
  }

  // ── How work is begun ──

  /** Called again until it is answered: what was begun is not begun again. */
  async #begin({ type, tool: name, id }: Job): Promise<void> {
    switch (type) {
      case "queue":
        return this.#accept(id, () => this.queue(id.includes("hangs") ? "runHanging" : "runQueued", { id }));
      case "one-shot":
        return this.#accept(id, () => this.schedule(0.2, "runScheduled", { id }));
      case "recurring":
        await this.scheduleEvery(0.25, "tick");
        return void (await this.schedule("* * * * * *", "strike"));
      case "managed-fiber": {
        const kind = "managed fiber";
        const options = { fiberId: id, idempotencyKey: id, metadata: { kind } };
        return void (await this.startFiber(id, (fiber) => this.runSteps(kind, id, fiber), options));
      }
      case "fiber":
        return this.#acceptFiber(id, () => this.runFiber(id, (fiber) => this.runSteps("fiber", id, fiber)));
      case "resumed-fiber": {
        const work = (fiber: FiberContext) => this.runSteps("fiber with a method", id, fiber);
        return this.#acceptFiber(id, () => this.runFiber(id, work, { onInterrupted: "resumeFiber" }));
      }
      case "workflow": {
        const workflowId = `${this.name}-${id}`;
        if (this.getWorkflow(workflowId)?.isCreated) return;
        return void (await this.runWorkflow("TRIAGE", { id }, { id: workflowId }));
      }
      default: {
        const message = {
          id: `m.${id}`,
          role: "user" as const,
          parts: [{ type: "text" as const, text: `Do ${name} ${id}` }]
        };
        return void (await this.submitMessages([message], { submissionId: id, idempotencyKey: id }));
      }
    }
  }

  /** The request and the note that it was made are stored in one breath, because nothing is awaited in between. */
  async #accept(id: string, store: () => Promise<unknown>): Promise<void> {
    if (this.sql`SELECT 1 FROM accepted WHERE id = ${id}`.length > 0) return;
    const stored = store();
    this.sql`INSERT INTO accepted VALUES (${id})`;
    await stored;
  }

  /** Its row is there as soon as `run` has been called. */
  async #acceptFiber(id: string, run: () => Promise<unknown>): Promise<void> {
    return this.#accept(id, async () => void run().catch((error: unknown) => console.log(String(error))));
  }

  // ── What it tells ──

  override async onRequest(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.endsWith("/begin")) {
      await this.#begin(Object.fromEntries(searchParams) as object as Job);
      return new Response("begun");
    }
    if (pathname.endsWith("/stop")) {
      for (const { id, callback } of await this.listSchedules())
        if (callback === "tick" || callback === "strike") await this.cancelSchedule(id);
      return new Response("stopped");
    }
    return Response.json(await this.#readState());
  }

  async #readState(): Promise<AgentState> {
    const parts = this.messages.flatMap((message) => message.parts.map((part) => ({ role: message.role, part })));
    const questions = parts.flatMap(({ role, part }) => (role === "user" && part.type === "text" ? [part.text] : []));
    const alarm = await this.ctx.storage.getAlarm();
    return {
      questions,
      calls: parts.flatMap(({ part }) => shownCall(part)),
      submissions: (await this.listSubmissions({ limit: 100, status: [...NOT_COMPLETED] })).map(
        ({ submissionId, status, error = "" }) => ({
          id: submissionId,
          status,
          error
        })
      ),
      fibers: (await this.listFibers({ limit: 100 })).map(({ name, status }) => ({ name, status })),
      runs: this.listAgentToolRuns().map(({ runId, status, inputPreview = "" }) => ({
        runId,
        status,
        input: inputPreview
      })),
      workflows: this.getWorkflows({ limit: 100 }).workflows.map(({ workflowId, status }) => ({
        id: workflowId,
        status
      })),
      schedules: (await this.listSchedules()).map(({ callback }) => callback),
      deadLetters: (await this.getDeadLetters()).length,
      pending: (await this.pendingApprovals()).map(
        ({ executionId, source, inputHash = "", mayHaveRun, descriptor }) => ({
          executionId,
          source,
          inputHash,
          mayHaveRun: mayHaveRun === true,
          input: JSON.stringify(descriptor.input)
        })
      ),
      alarmInMs: alarm === null ? null : alarm - Date.now()
    };
  }
}

/** Of a workflow's id. */
function jobOf(workflowId: string): string {
  return workflowId.slice(workflowId.indexOf("workflow."));
}

/** Before its first checkpoint a fiber is at its beginning. */
function checkpoint(snapshot: unknown, metadata: unknown, kind: string): { kind: string; done: number } {
  return { kind, done: 0, ...(metadata as object | undefined), ...(snapshot as object | null) };
}

function shownCall(part: Everything["messages"][number]["parts"][number]): ShownCall[] {
  if (!part.type.startsWith("tool-") || !("toolCallId" in part)) return [];
  const output = part.state === "output-available" ? part.output : part.state === "output-error" ? part.errorText : "";
  const shown = { tool: part.type.slice("tool-".length), state: part.state };
  return [{ ...shown, input: JSON.stringify(part.input) ?? "", output: JSON.stringify(output) ?? "" }];
}

export default {
  async fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/workflow") return new Response(await runInstance(searchParams.get("id") ?? "", ctx, env));
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
