// A project as it is written for the original, with data of every kind. `everthink migrate` moves it; nothing here is
// changed by hand. `POST /agents/<class>/<name>?do=<method>` calls a method with the arguments in the body.
import { action, Think, type Session } from "@cloudflare/think";
import { Agent, routeAgentRequest } from "agents";
import { agentTool } from "agents/agent-tools";
import { tool } from "ai";
import { z } from "zod";
import { scriptedModel } from "./model.ts";

interface Env {
  Assistant: DurableObjectNamespace<Assistant>;
  Counter: DurableObjectNamespace<Counter>;
}

type Arguments = readonly unknown[];

/** Notes of the project itself, in a table of its own. */
class Notes {
  constructor(private readonly sql: SqlStorage) {
    sql.exec("CREATE TABLE IF NOT EXISTS my_notes (text TEXT NOT NULL)");
  }

  add(text: string): void {
    this.sql.exec("INSERT INTO my_notes VALUES (?)", text);
  }

  all(): string[] {
    return [...this.sql.exec("SELECT text FROM my_notes ORDER BY rowid")].map(({ text }) => String(text));
  }
}

/** True the first time only: a process that is killed meanwhile does not hold the answer again. */
function heldOnce(sql: SqlStorage, text: string): boolean {
  const notes = new Notes(sql);
  if (notes.all().includes(`held ${text}`)) return false;
  notes.add(`held ${text}`);
  return true;
}

async function answer(agent: object, request: Request): Promise<Response> {
  const method = new URL(request.url).searchParams.get("do") ?? "notes";
  const args = request.method === "POST" ? ((await request.json()) as Arguments) : [];
  try {
    const result = await (agent as Record<string, (...args: Arguments) => unknown>)[method]?.(...args);
    return Response.json(result ?? null);
  } catch (error) {
    return new Response(error instanceof Error ? (error.stack ?? error.message) : String(error), { status: 500 });
  }
}

export class Counter extends Agent<Env, { count: number }> {
  initialState = { count: 0 };

  async add(amount: number) {
    this.setState({ count: this.state.count + amount });
    return this.state;
  }

  show() {
    return this.state;
  }

  async book() {
    await this.schedule(3600, "tick", { at: "noon" });
    await this.schedule(new Date("2100-01-01T00:00:00Z"), "tick", "far");
    await this.schedule("0 12 * * *", "tick", { daily: true });
    await this.scheduleEvery(600, "tick", { often: true });
    await this.schedule(7200, "tick", "retried", { retry: { maxAttempts: 7, baseDelayMs: 50, maxDelayMs: 100 } });
  }

  async soon(seconds: number) {
    await this.schedule(seconds, "tick", "soon");
  }

  schedules() {
    return this.listSchedules();
  }

  async enqueue() {
    await this.queue("slow", "first");
    await this.queue("slow", "second");
  }

  async slow(payload: unknown) {
    this.note(`slow ${String(payload)}`);
    await this.holdOnce("slow");
  }

  tick(payload: unknown) {
    this.note(`tick ${JSON.stringify(payload)}`);
  }

  async managed() {
    const started = await this.startFiber(
      "import",
      async (fiber) => {
        fiber.stash({ page: 7 });
        await this.holdOnce("fiber");
      },
      { idempotencyKey: "import-1", metadata: { source: "test" } }
    );
    return started;
  }

  unmanaged() {
    void this.runFiber("sweep", async (fiber) => {
      fiber.stash({ row: 12 });
      await this.holdOnce("sweep");
    });
  }

  async finished() {
    return this.startFiber("finished", async () => {}, { idempotencyKey: "finished-1", waitForCompletion: true });
  }

  onFiberRecovered(fiber: { name: string; snapshot: unknown }) {
    this.note(`recovered ${fiber.name} ${JSON.stringify(fiber.snapshot)}`);
  }

  inspect(key: string) {
    return this.inspectFiberByKey(key);
  }

  note(text: string) {
    new Notes(this.ctx.storage.sql).add(text);
  }

  notes() {
    return new Notes(this.ctx.storage.sql).all();
  }

  objectId() {
    return this.ctx.id.toString();
  }

  /** Does not return the first time, as a process that is killed. */
  private async holdOnce(name: string) {
    if (!heldOnce(this.ctx.storage.sql, name)) return;
    for (;;) await scheduler.wait(25);
  }

  onRequest(request: Request) {
    return answer(this, request);
  }
}

export class Researcher extends Think<Env, { topic: string }> {
  initialState = { topic: "" };

  getModel() {
    return scriptedModel((text) => heldOnce(this.ctx.storage.sql, text));
  }

  async begin(topic: string, text: string) {
    this.setState({ topic });
    await this.schedule(5400, "tick", { topic });
    await this.saveMessages([{ id: `q-${topic}`, role: "user", parts: [{ type: "text", text }] }]);
  }

  async report() {
    const messages = await this.getMessages();
    const answer = messages
      .at(-1)
      ?.parts.map((part) => (part.type === "text" ? part.text : ""))
      .join("");
    const ticks = new Notes(this.ctx.storage.sql).all().filter((note) => note === "tick").length;
    return { topic: this.state.topic, messages: messages.length, answer, ticks, schedules: await this.planned() };
  }

  async planned() {
    return (await this.listSchedules()).map(({ id, callback, payload }) => ({ id, callback, payload }));
  }

  tick() {
    new Notes(this.ctx.storage.sql).add("tick");
  }
}

export class Assistant extends Think<Env, { topic: string; opened: number }> {
  initialState = { topic: "nothing", opened: 0 };
  maxSteps = 5;

  getModel() {
    return scriptedModel((text) => heldOnce(this.ctx.storage.sql, text));
  }

  configureSession(session: Session) {
    return session
      .withContext("soul", { provider: { get: async () => "You are brief." } })
      .withContext("memory", { description: "What is known", maxTokens: 1000 })
      .onCompaction(async (messages) => ({
        fromMessageId: messages[0]?.id ?? "",
        toMessageId: messages[1]?.id ?? "",
        summary: "A greeting was exchanged."
      }))
      .withCachedPrompt();
  }

  getTools() {
    return {
      research: agentTool(Researcher, {
        description: "Research one topic.",
        inputSchema: z.object({ query: z.string() })
      }),
      color: tool({ description: "The visitor's colour.", inputSchema: z.object({}) })
    };
  }

  getActions() {
    return {
      charge: action({
        description: "Charge an invoice.",
        inputSchema: z.object({ invoice: z.string(), hold: z.boolean().optional() }),
        idempotencyKey: ({ input }) => `invoice:${input.invoice}`,
        execute: async ({ invoice, hold }) => {
          this.note(`charged ${invoice}`);
          if (hold) for (;;) await scheduler.wait(25);
          return { receipt: `r-${invoice}` };
        }
      }),
      ping: action({
        description: "Ping a host.",
        inputSchema: z.object({ host: z.string() }),
        execute: async ({ host }) => {
          this.note(`pinged ${host}`);
          return `pong ${host}`;
        }
      }),
      remove: action({
        description: "Delete an account.",
        inputSchema: z.object({ user: z.string() }),
        approval: true,
        execute: async ({ user }) => {
          this.note(`removed ${user}`);
          return { removed: user };
        }
      }),
      deploy: action({
        description: "Deploy to production.",
        inputSchema: z.object({ ref: z.string() }),
        kind: "durable-pause",
        approval: true,
        approvalSummary: "Deploy to production",
        approvalRisk: "high",
        execute: async ({ ref }) => {
          this.note(`deployed ${ref}`);
          return { deployed: ref };
        }
      })
    };
  }

  async ask(text: string, id: string = crypto.randomUUID()) {
    await this.saveMessages((messages) => [...messages, { id, role: "user", parts: [{ type: "text", text }] }]);
  }

  /** Does not wait for the answer. */
  askAndLeave(text: string, id?: string) {
    void this.ask(text, id);
  }

  async submit(text: string, key: string) {
    const messages = [{ id: `m-${key}`, role: "user" as const, parts: [{ type: "text" as const, text }] }];
    return this.submitMessages(messages, { idempotencyKey: key, metadata: { from: "test", key } });
  }

  submissions() {
    return this.listSubmissions();
  }

  async transcript() {
    return this.getMessages();
  }

  show() {
    return { state: this.state, config: this.getConfig() };
  }

  async prepare() {
    this.setState({ topic: "moving", opened: 3 });
    this.configure({ tone: "dry", limit: 4 });
    await this.session.replaceContextBlock("memory", "The visitor's name is Ada.");
  }

  async book() {
    await this.schedule(3600, "tick", { at: "noon" });
    await this.scheduleEvery(600, "tick", { often: true });
  }

  async soon(seconds: number) {
    await this.schedule(seconds, "tick", "soon");
  }

  schedules() {
    return this.listSchedules();
  }

  tick(payload: unknown) {
    this.note(`tick ${JSON.stringify(payload)}`);
  }

  async compactNow() {
    return this.session.compact();
  }

  memory() {
    return this.session.getContextBlock("memory");
  }

  async child(topic: string, text = `say About ${topic}.`) {
    const researcher = await this.subAgent(Researcher, topic);
    await researcher.begin(topic, text);
  }

  /** Does not wait for the child's answer. */
  childAndLeave(topic: string, text: string) {
    void this.child(topic, text);
  }

  async childReport(topic: string) {
    const researcher = await this.subAgent(Researcher, topic);
    return researcher.report();
  }

  children() {
    return this.listSubAgents(Researcher);
  }

  async writeFiles() {
    await this.workspace.mkdir("/notes", { recursive: true });
    await this.workspace.writeFile("/notes/today.md", "# Today\n\nMove in.\n");
    await this.workspace.writeFileBytes("/notes/dot.bin", new Uint8Array([0, 1, 2, 255]));
  }

  /** The files of the newest generation are another file system. */
  async writeNewFiles() {
    const { fs } = this.workspace as unknown as { fs: { writeFile(path: string, text: string): Promise<void> } };
    await fs.writeFile("/today.md", "# Today");
  }

  /** A second answer to the first question, and a picture that is not kept in the message's row. */
  async branchAndAttach() {
    const user = { id: "b1", role: "user" as const, parts: [{ type: "text" as const, text: "say One." }] };
    await this.saveMessages([user]);
    const other = { id: "b2", role: "assistant" as const, parts: [{ type: "text" as const, text: "Two." }] };
    await this.session.appendMessage(other, "b1");
    const url = `data:image/png;base64,${btoa("0123456789".repeat(2_000))}`;
    const file = { type: "file" as const, mediaType: "image/png", url };
    const long = { type: "text" as const, text: `say ${"long ".repeat(400)}` };
    await this.session.appendMessage({ id: "b3", role: "user", parts: [long, file] }, "b2");
  }

  getScheduledTasks() {
    return { digest: { schedule: "every 6 hours", prompt: "say Good morning." } };
  }

  async readFile(path: string) {
    return this.workspace.readFile(path);
  }

  async connectMcp(url: string) {
    return this.addMcpServer("tools", url);
  }

  mcpServers() {
    return this.getMcpServers();
  }

  pending() {
    return this.pendingApprovals();
  }

  approve(executionId: string) {
    return this.approveExecution(executionId);
  }

  note(text: string) {
    new Notes(this.ctx.storage.sql).add(text);
  }

  notes() {
    return new Notes(this.ctx.storage.sql).all();
  }

  objectId() {
    return this.ctx.id.toString();
  }

  onRequest(request: Request) {
    return answer(this, request);
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
