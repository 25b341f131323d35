// One conversation. The class says which model, tools, actions and memory it has, and tells its pages what happens
// underneath; everything durable about it is Think's.
import {
  Think,
  Workspace,
  type ChatErrorContext,
  type ChatRecoveryContext,
  type ChatResponseResult,
  type DeferrableTool,
  type McpApproval,
  type McpToolInfo,
  type PendingExecution,
  type PrepareStepContext,
  type ReadJournalOptions,
  type Session,
  type StepContext,
  type ToolCallContext,
  type ToolCallResultContext,
  type TurnContext
} from "everthink";
import type { ToolSet } from "ai";
import { createExtensionTools } from "everthink/tools/extensions";
import { getAgentByName, type Connection, type StateSource } from "everthink/agent";
import { diagnosticsObservability, type AgentEvent, type Observability } from "everthink/observe";
import type { ExecuteRuntime } from "everthink/tools/execute";
import type {
  AssistantState,
  CalledFromCode,
  DemoTask,
  FileListing,
  FilesNote,
  LastChange,
  PanelNote,
  PublishedNote
} from "../../shared/demo.ts";
import { ruleOf, TOOL_RULES, type ToolRule } from "../../shared/tool-rules.ts";
import { noteActions } from "../../server/actions.ts";
import { ALMANAC_ADDRESSES, almanacFetch, almanacSearch } from "../../server/almanac.ts";
import { assistantModel } from "../../server/assistant-model.ts";
import { calledFrom, codeRuntime, PUBLISH_SUMMARY } from "../../server/code.ts";
import { DIRECTORY_NAME, paceMs, type Env } from "../../server/env.ts";
import { failureForPeople } from "../../server/failure.ts";
import { fileListing, lastChangeOf } from "../../server/files.ts";
import { harbourTools, isHarbourTool } from "../../server/harbours.ts";
import type { Model } from "../../server/language-model.ts";
import { loginPage } from "../../server/login-page.ts";
import { SimulatedMessenger } from "../../server/messenger.ts";
import { chooseModel, statusOf, type ModelProblem } from "../../server/models.ts";
import { Notebook, type Note } from "../../server/notes.ts";
import { callDetail, eventNote, hookNote, resultDetail, stepNote, turnDetail } from "../../server/panel.ts";
import { pause } from "../../server/pause.ts";
import { INSTRUCTIONS } from "../../server/prompt.ts";
import { demoSkills, scriptRunner } from "../../server/skills.ts";
import {
  changedSettings,
  NO_TASKS,
  promptOf,
  scheduledTasks,
  shownTasks,
  type TaskSettings
} from "../../server/tasks.ts";
import { teamTools } from "../../server/team.ts";
import { demoTools } from "../../server/tools.ts";

/** A report of progress is looked at longer than a word. */
const PROGRESS_PACE = 6;
/** Of what the model may keep about the user. */
const MEMORY_TOKENS = 1_000;
/** Users may pull the plug again and again; a real agent gives an answer up that killed it five times. */
const MAX_PULLED_PLUGS = 100;
/** A turn waits so long for servers that connect again. */
const MCP_WAIT_MS = 3_000;
/** What a page that connects is told of what happened just before, such as the recovery of a turn. */
const RECENT_NOTES = 30;

/** Events after which fewer questions wait. */
const DECISIONS: ReadonlySet<string> = new Set(["tool:approval", "action:pause:swept"] satisfies AgentEvent["type"][]);

/** What the directory is told. Absent: the conversation was asked nothing. Null: it has a title. */
interface Announced {
  readonly title?: string | null;
}

/** Conversations are stored under this name, and `env` has them under it. */
export const className = "Assistant";

export class Assistant extends Think<Env, AssistantState> {
  /** Besides those of Think. As they stand, so that the compiler knows them in the page. */
  static override callables = [
    "readJournal",
    "listFiles",
    "lastChange",
    "connectServer",
    "forgetServer",
    "ruleTool",
    "submitMessages",
    "cancelSubmission",
    "listTasks",
    "setTask",
    "runTask",
    "calledFromCode",
    "sayInMessenger",
    "pressInMessenger"
  ] as const;
  override initialState: AssistantState = { model: statusOf(chooseModel(this.env)) };
  override workspace: Workspace = new Workspace({
    sql: this.ctx.storage.sql,
    name: () => this.name,
    onChange: ({ path }) => this.broadcast(JSON.stringify({ type: "files", path } satisfies FilesNote))
  });
  /** The page shows below each answer what it took, if the visitor wants it. */
  override sendUsage = true;
  /** A web of two pages: the demo needs no internet. */
  override webFetch = { allow: ALMANAC_ADDRESSES, fetch: almanacFetch };
  override webSearch = almanacSearch;
  /** The tools of the harbours are described once they were found. */
  override toolDiscovery = { defer: ({ name }: DeferrableTool) => isHarbourTool(name) };
  override extensionLoader = this.env.LOADER;
  override chatRecovery = { maxInterruptedAttempts: MAX_PULLED_PLUGS };
  override observability: Observability = {
    emit: (event) => {
      diagnosticsObservability.emit(event);
      this.#forward(event);
    }
  };
  readonly #notes = new Notebook(this);
  readonly #recent: PanelNote[] = [];
  #code: ExecuteRuntime | undefined;
  /** Questions that the directory was told of. Undefined: by an earlier process. */
  #waiting: number | undefined;
  readonly #messenger = new SimulatedMessenger({
    agent: this,
    deliver: async (webhook) => (await getAgentByName(this.env.Assistant, this.name)).fetch(webhook)
  });

  override onStart(): void {
    this.#notes.open();
    this.mcp.configureOAuthCallback({ customHandler: loginPage });
    // The environment may be another one than at the last start.
    this.#showModel(undefined);
  }

  override getModel(): Model {
    return assistantModel(this.env, (problem) => this.#showModel(problem));
  }

  override configureSession(session: Session): Session {
    return session
      .withContext("instructions", { provider: { get: async () => INSTRUCTIONS } })
      .withContext("memory", { description: "What you should know about the user", maxTokens: MEMORY_TOKENS })
      .withCachedPrompt();
  }

  override getTools() {
    const tools = demoTools({
      notes: this.#notes,
      now: () => Date.now(),
      pause: (signal) => pause(paceMs(this.env) * PROGRESS_PACE, signal)
    });
    const { extensionManager: manager } = this;
    // What the model writes for itself is shown to a person first.
    const extensionTools = manager ? createExtensionTools({ manager, approval: true }) : {};
    return { ...tools, ...teamTools, ...harbourTools, ...extensionTools, ...this.#codeTools(tools) };
  }

  /** Programs of the model, where there is a loader to run them. */
  #codeTools(tools: ToolSet): ToolSet {
    if (!this.env.LOADER) return {};
    const { runtime, tool } = codeRuntime(this, {
      notes: this.#notes,
      tools,
      publish: (note) => this.#publish(note)
    });
    this.#code = runtime;
    return { execute: tool };
  }

  override describePausedExecution({ method }: PendingExecution) {
    return method === "publish_note" ? { summary: PUBLISH_SUMMARY, risk: "low" as const } : undefined;
  }

  /** What a program has called so far. */
  async calledFromCode(executionId: string): Promise<CalledFromCode[]> {
    this.getTools();
    return calledFrom(this.#code, executionId);
  }

  /** A page may open the colleagues that were asked, and make no others. */
  override onBeforeSubAgent(_request: Request, child: { className: string; name: string }): Response | undefined {
    const isKnown = this.hasAgentToolRun(child.className, child.name);
    return isKnown ? undefined : new Response("Not found", { status: 404 });
  }

  override getActions() {
    return noteActions({ notes: this.#notes, publish: (note) => this.#publish(note) });
  }

  // ── MCP servers ──

  override waitForMcpConnections = { timeout: MCP_WAIT_MS };

  override mcpApproval(tool: McpToolInfo): McpApproval {
    const rule = ruleOf(tool, this.state.toolRules);
    return rule === "hide" ? "hide" : rule === "ask";
  }

  /** Called by pages. What becomes of it is part of what they are shown of the servers. */
  async connectServer(url: string): Promise<void> {
    const name = URL.canParse(url) ? new URL(url).host : url;
    await this.addMcpServer(name, url);
  }

  async forgetServer(id: string): Promise<void> {
    const keys = new Set(this.getMcpServers().tools.flatMap((tool) => (tool.serverId === id ? [tool.toolKey] : [])));
    await this.removeMcpServer(id);
    const rules = Object.entries(this.state.toolRules ?? {}).filter(([key]) => !keys.has(key));
    this.setState({ ...this.state, toolRules: Object.fromEntries(rules) });
  }

  async ruleTool(key: string, rule: ToolRule): Promise<void> {
    const isKnown = this.getMcpServers().tools.some(({ toolKey }) => toolKey === key);
    if (!isKnown || !TOOL_RULES.includes(rule)) throw new Error("There is no such tool or rule.");
    this.setState({ ...this.state, toolRules: { ...this.state.toolRules, [key]: rule } });
  }

  // ── Skills ──

  override getSkills() {
    return demoSkills;
  }

  override getSkillScriptRunner() {
    return scriptRunner(this.env.LOADER);
  }

  // ── Messengers ──

  /** The demo's switch: without this method there is no messenger and no webhook. */
  override getMessengers() {
    return this.#messenger.definitions();
  }

  /** The chat has no person behind it: the page of the demo plays that person, and shows the same conversation. */
  override authorizeMessengerConversation() {
    return true;
  }

  /** A person in the simulated chat. */
  sayInMessenger(text: string): Promise<void> {
    return this.#messenger.say(text);
  }

  pressInMessenger(messageId: number, label: string): Promise<void> {
    return this.#messenger.press(messageId, label);
  }

  // ── Files ──

  /** Everybody who can open the page can do everything: a class of your own says who may. */
  override authorizeWorkspace(): boolean {
    return true;
  }

  listFiles(): Promise<FileListing> {
    return fileListing(this.workspace);
  }

  lastChange(path: string): Promise<LastChange | null> {
    return lastChangeOf(this.workspace, path);
  }

  // ── Without a page ──

  override getScheduledTasks() {
    return scheduledTasks(this.#taskSettings());
  }

  async listTasks(): Promise<DemoTask[]> {
    return shownTasks(this.#taskSettings(), await this.listScheduledTasks());
  }

  async setTask(taskId: string, isOn: boolean, timezone: string): Promise<void> {
    const settings = changedSettings(this.#taskSettings(), { taskId, isOn, timezone });
    this.configure(settings);
    await this.reconcileScheduledTasks();
    this.setState({ ...this.state, tasksOn: [...settings.on] });
  }

  /** Beside its schedule, also while it is switched off. */
  async runTask(taskId: string): Promise<void> {
    if (this.#taskSettings().on.includes(taskId)) await this.runScheduledTask(taskId);
    else await this.runTurn({ mode: "submit", input: promptOf(taskId) });
  }

  #taskSettings(): TaskSettings {
    return this.getConfig<TaskSettings>() ?? NO_TASKS;
  }

  // ── What the pages are told ──

  /** After a death the turn goes on before any page is back. */
  override onConnect(connection: Connection): void {
    for (const note of this.#recent) connection.send(JSON.stringify(note));
  }

  override async beforeTurn(turn: TurnContext): Promise<void> {
    this.#hook("beforeTurn", turnDetail(turn));
    // In the queue, so that a directory that cannot be reached now costs this turn nothing.
    if (!turn.continuation) await this.queue("announce", { title: this.#firstQuestion() } satisfies Announced);
  }

  override beforeStep(step: PrepareStepContext): void {
    this.#hook("beforeStep", `step ${step.stepNumber + 1}`);
  }

  override beforeToolCall(call: ToolCallContext): void {
    this.#hook("beforeToolCall", callDetail(call));
  }

  override afterToolCall(result: ToolCallResultContext): void {
    this.#hook("afterToolCall", resultDetail(result));
  }

  override onStepFinish(step: StepContext): void {
    this.#tell(stepNote(step, Date.now()));
  }

  override async onChatResponse({ status, message }: ChatResponseResult): Promise<void> {
    this.#hook("onChatResponse", status);
    await this.#noteWaiting();
    // The prompt is kept as it is for the provider's cache; what the model wrote into its memory must show, though.
    if (message.parts.some(({ type }) => type === "tool-set_context")) await this.session.refreshSystemPrompt();
  }

  override onChatRecovery({ recoveryKind, attempt }: ChatRecoveryContext): void {
    this.#hook("onChatRecovery", `${recoveryKind}, attempt ${attempt}`);
  }

  override onChatError(error: unknown, { stage, classification }: ChatErrorContext = { stage: "turn" }): Error {
    this.#hook("onChatError", [stage, classification].filter(Boolean).join(", "));
    return failureForPeople(error);
  }

  /** Think has it and leaves it to each class whether clients may call it: it tells what was written, not what it says. */
  override readJournal(options?: ReadJournalOptions) {
    return super.readJournal(options);
  }

  /** Clients follow the state; they do not write it. */
  override validateStateChange(_next: AssistantState, source: StateSource): void {
    if (source !== "server") throw new Error("The state of an assistant is not the page's to change.");
  }

  // ── The directory ──

  /** From the queue, one after the other: a conversation is listed before its questions are counted. */
  async announce({ title }: Announced): Promise<void> {
    const directory = await getAgentByName(this.env.Directory, DIRECTORY_NAME);
    if (title !== undefined) await directory.touch(this.name, title ?? undefined);
    await directory.waits(this.name, this.#countQuestions());
  }

  /** Most turns wait for nothing before and after: they cost no call. */
  async #noteWaiting(): Promise<void> {
    const questions = this.#countQuestions();
    if (questions === this.#waiting) return;
    this.#waiting = questions;
    await this.queue("announce", {} satisfies Announced);
  }

  /** Calls of the answers, and what is parked. */
  #countQuestions(): number {
    const isQuestion = (part: object) => "state" in part && part.state === "approval-requested";
    const asked = this.messages.reduce((sum, { parts }) => sum + parts.filter(isQuestion).length, 0);
    return asked + this.pendingApprovals().length;
  }

  async #publish({ id, text }: Note): Promise<PublishedNote> {
    const note = { id: `${this.name}:${id}`, text, publishedAt: Date.now() };
    const directory = await getAgentByName(this.env.Directory, DIRECTORY_NAME);
    await directory.publish(note);
    return note;
  }

  /** The title of the conversation; null when this is not its first question. */
  #firstQuestion(): string | null {
    const asked = this.messages.filter(({ role }) => role === "user");
    if (asked.length !== 1) return null;
    return asked.flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : ""))).join(" ");
  }

  #showModel(problem: ModelProblem | undefined): void {
    const model = statusOf(chooseModel(this.env), problem);
    if (JSON.stringify(model) !== JSON.stringify(this.state.model)) this.setState({ ...this.state, model });
  }

  #forward(event: AgentEvent): void {
    const note = eventNote(event);
    if (note) this.#tell(note);
    // Of several questions of one answer the turn goes on with the last decision.
    if (DECISIONS.has(event.type)) this.ctx.waitUntil(this.#noteWaiting());
  }

  #hook(name: string, detail: string): void {
    this.#tell(hookNote(name, detail, Date.now()));
  }

  #tell(note: PanelNote): void {
    this.#recent.push(note);
    if (this.#recent.length > RECENT_NOTES) this.#recent.shift();
    this.broadcast(JSON.stringify(note));
  }
}
