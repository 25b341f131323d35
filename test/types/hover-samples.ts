// Every example that a doc comment of the class shows on hover, as code that is compiled. A test compares.
import { openai } from "@ai-sdk/openai";
import { tool, type LanguageModel, type ToolSet } from "ai";
import {
  action,
  defaultChatErrorClassifier,
  defineChannels,
  PRICES,
  skills,
  Think,
  usd,
  Workspace,
  type ActionAuthorizationContext,
  type ActionSet,
  type AgentToolRunInfo,
  type ApprovalAuthorizationContext,
  type ApprovalCaller,
  type BudgetContext,
  type BudgetLimit,
  type ChatRecoveryContext,
  type ChatResponseResult,
  type McpToolInfo,
  type MessageMetadataCallback,
  type ModelFailureContext,
  type PendingExecution,
  type PrepareStepContext,
  type ReplyAttachment,
  type RunAgentToolResult,
  type Session,
  type SteerContext,
  type SteerDecision,
  type StepContext,
  type ThinkScheduledTasks,
  type ThinkSubmissionInspection,
  type ToolCallContext,
  type ToolCallResultContext,
  type TurnContext,
  type WorkspaceAccess
} from "everthink";
import {
  getCurrentAgent,
  hasBearerToken,
  type AgentPathStep,
  type Connection,
  type ConnectionContext,
  type FiberRecoveryContext,
  type OutgoingEmail,
  type StateSource
} from "everthink/agent";
import { cloudflareBrowser } from "everthink/browser";
import type { InspectionAccess } from "everthink/inspect";
import { userOf } from "everthink/login";
import { defineMessengers } from "everthink/messengers";
import { telegramMessenger } from "everthink/messengers/telegram";
import type { AgentEvent } from "everthink/observe";
import type { SkillsBucket } from "everthink/skills";
import { createExecuteRuntime } from "everthink/tools/execute";
import { brave } from "everthink/web";
import { z } from "zod";

declare const createAnthropic: (options: { apiKey: string }) => (model: string) => LanguageModel;
declare const auditSource: string;
declare const isAdministrator: (request: Request) => Promise<boolean>;
declare const report: (error: unknown) => void;
declare const staffOf: (request: Request) => Promise<string | undefined>;
declare const vaultProvider: (agent: string, callbackUrl: string) => ReturnType<Think["createMcpOAuthProvider"]>;

/** Of every conversation: `ThinkCore`. */
export class ThinkSample extends Think<{ ANTHROPIC_API_KEY: string }> {
  spent = 0;
  answered = 0;
  declare houseModel: () => LanguageModel;
  static override callables = ["vote"];
  override maxSteps = 25;
  override sendReasoning = false;
  override sendUsage = true;
  override messageMetadata: MessageMetadataCallback = ({ part }) =>
    part.type === "start" ? { createdAt: Date.now() } : undefined;
  override messageConcurrency = "latest" as const;
  override hydrationByteBudget = 2_000_000;
  override mediaEviction = false;
  override allowClientToolOverrides = true;
  override historyTruncation = { keepRecent: 20 };
  override contextOverflow = { reactive: true };
  override chatRecovery = { maxAttempts: 3 };
  override chatStreamStallTimeoutMs = 120_000;
  override chatStreamStallIncludesTools = true;
  override maxTurnTokens = 200_000;
  override maxAnswerBytes = 200_000;
  override maxUnstoredTextMs = 100;
  override getModel() {
    return createAnthropic({ apiKey: this.env.ANTHROPIC_API_KEY })("claude-sonnet-4-5");
  }
  override resolveModel(id: string) {
    return id === "house" ? this.houseModel() : undefined;
  }
  override getSystemPrompt() {
    return "You help with cooking.";
  }
  override getTools(): ToolSet {
    return { roll: tool({ inputSchema: z.object({}), execute: () => 4 }) };
  }
  override authorizeTurn() {
    const user = getCurrentAgent().connection?.state as { role?: string } | null | undefined;
    return user?.role === "admin" || { allowed: true, grantedPermissions: ["orders:read"] };
  }
  override configureSession(session: Session) {
    return session.withContext("memory", { maxTokens: 1_000 });
  }
  override beforeTurn({ continuation }: TurnContext) {
    return continuation ? { activeTools: ["search"] } : {};
  }
  override beforeStep({ stepNumber }: PrepareStepContext) {
    return stepNumber > 3 ? { toolChoice: "none" as const } : {};
  }
  override beforeToolCall({ toolName }: ToolCallContext) {
    if (toolName === "pay") return { action: "block", reason: "Not today." } as const;
  }
  override afterToolCall({ toolName, durationMs }: ToolCallResultContext) {
    console.log(toolName, durationMs);
  }
  override onStepFinish({ usage }: StepContext) {
    this.spent += usage.totalTokens ?? 0;
  }
  override onStepEnd({ usage }: StepContext) {
    this.spent += usage.totalTokens ?? 0;
  }
  override onChunk({ chunk }: Parameters<Think["onChunk"]>[0]) {
    if (chunk.type === "text-delta") console.log(chunk.text);
  }
  override onChatResponse({ status }: ChatResponseResult) {
    if (status === "completed") this.answered += 1;
  }
  override onChatError() {
    return new Error("I am busy. Please try again in a minute.");
  }
  override onChatRecovery({ attempt }: ChatRecoveryContext) {
    return { continue: attempt <= 3 };
  }
  override repairInterruptedToolPart() {
    return { type: "text" as const, text: "This call was interrupted." };
  }
  override classifyChatError(error: unknown) {
    return defaultChatErrorClassifier(error) ?? "transient";
  }
}

interface Env {
  FILES: R2Bucket;
  LOADER: WorkerLoader;
  OWNER_TOKEN?: string;
  PROXY: Fetcher;
  SKILLS_BUCKET: SkillsBucket;
  TELEGRAM_BOT_TOKEN: string;
  TELEGRAM_WEBHOOK_SECRET_TOKEN: string;
  WEBHOOK_SECRET?: string;
}

/** Of every agent, and of the capabilities. */
export class AgentSample extends Think<Env, { votes: Record<string, number> }> {
  isClosed = false;
  isPublishing = false;
  sources: string[] = [];
  declare copyFrom: (page: number, stash: (data: unknown) => void) => Promise<void>;
  declare ownTools: () => ToolSet;
  declare poll: () => void;
  declare refund: (order: string) => string;
  override getModel() {
    return openai("gpt-5");
  }
  static override options = { allowedOrigins: ["https://app.example.com"] };
  override initialState = { votes: {} as Record<string, number> };
  override observability = { emit: (event: AgentEvent) => console.log(JSON.stringify(event)) };
  override async onStart() {
    await this.scheduleEvery(300, "poll");
  }
  override onRequest(request: Request) {
    if (!hasBearerToken(request, this.env.OWNER_TOKEN)) return new Response("Unauthorized", { status: 401 });
    return Response.json(this.state);
  }
  override onConnect(connection: Connection, { request }: ConnectionContext) {
    connection.setState({ user: userOf(request) }); // behind createLogin()
  }
  override onMessage(connection: Connection, message: string | ArrayBuffer) {
    if (message === "ping") connection.send("pong");
  }
  override onClose(connection: Connection) {
    this.broadcast(JSON.stringify({ type: "left", id: connection.id }));
  }
  override onError(...args: unknown[]) {
    report(args.at(-1)); // your error tracking
    throw args.at(-1);
  }
  override getConnectionTags(_connection: Connection, { request }: ConnectionContext) {
    return [userOf(request) ? "member" : "guest"];
  }
  override shouldConnectionBeReadonly(_connection: Connection, { request }: ConnectionContext) {
    return userOf(request) !== this.name; // behind createLogin()
  }
  override shouldSendProtocolMessages(_connection: Connection, { request }: ConnectionContext) {
    return !new URL(request.url).searchParams.has("sensor");
  }
  override validateStateChange(next: { votes: Record<string, number> }) {
    if (Object.keys(next.votes).length > 100) throw new Error("At most 100 options");
  }
  override onStateChanged(next: { votes: Record<string, number> }, source: StateSource) {
    if (source !== "server") console.log(source.id, "voted:", next.votes);
  }
  override onBeforeSubAgent(_request: Request, child: AgentPathStep) {
    if (!this.hasAgentToolRun(child.className, child.name)) return new Response("Not found", { status: 404 });
  }
  override maxConcurrentAgentTools = 4;
  override maxQueuedAgentTools = 100;
  override agentToolNoProgressMs = 30 * 60_000;
  override agentToolRetention = { maxRuns: 100 };
  override onAgentToolStart({ agentType }: AgentToolRunInfo) {
    if (agentType === "Buyer" && this.isClosed) throw new Error("The shop is closed.");
  }
  override onAgentToolFinish({ agentType, runId }: AgentToolRunInfo, { status, error }: RunAgentToolResult) {
    if (status === "error") console.error(`${agentType} ${runId} failed: ${error}`);
  }
  override deliverEmail = async ({ secret: _secret, ...email }: OutgoingEmail) => {
    const sent = await fetch("https://mail.example.com/send", { method: "POST", body: JSON.stringify(email) });
    if (!sent.ok) throw new Error(`The mail was not sent: ${sent.status}`);
  };
  override async onFiberRecovered({ name, snapshot }: FiberRecoveryContext) {
    if (name !== "copy") return;
    const next = (snapshot as number | null) ?? 0; // null: cut off before its first checkpoint
    await this.runFiber("copy", (fiber) => this.copyFrom(next, fiber.stash));
    return { status: "completed" as const };
  }
  override mcpFetch = (url: string | URL, init?: RequestInit) => this.env.PROXY.fetch(url, init);
  override createMcpOAuthProvider(callbackUrl: string) {
    return vaultProvider(this.name, callbackUrl); // an OAuthClientProvider of yours
  }
  override onWorkflowProgress(_workflowName: string, workflowId: string, progress: unknown) {
    this.broadcast(JSON.stringify({ type: "progress", workflowId, progress }));
  }
  override onWorkflowComplete(_workflowName: string, workflowId: string, result?: unknown) {
    this.broadcast(JSON.stringify({ type: "imported", workflowId, result }));
  }
  override onWorkflowError(workflowName: string, workflowId: string, error: string) {
    console.error(`${workflowName} ${workflowId} failed: ${error}`);
  }
  override onWorkflowEvent(_workflowName: string, workflowId: string, event: unknown) {
    this.broadcast(JSON.stringify({ type: "event", workflowId, event }));
  }
  override actionLedgerPendingRetryLeaseMs = 15 * 60_000;
  override actionLedgerRetention = { settledMs: 90 * 24 * 3_600_000 };
  override actionPendingApprovalTtlMs = 24 * 3_600_000;
  override getActions(): ActionSet {
    const inputSchema = z.object({ order: z.string() });
    const execute = ({ order }: { order: string }) => this.refund(order);
    return { refund: action({ description: "Refunds an order.", inputSchema, approval: true, execute }) };
  }
  override authorizeAction(context: ActionAuthorizationContext) {
    if (context.action === "refund" && this.isClosed) return { allowed: false, reason: "The shop is closed." };
    return super.authorizeAction(context);
  }
  override renderAttachment(attachment: ReplyAttachment) {
    if (attachment.type === "chart") return `Chart: ${String(attachment["url"])}`;
    return super.renderAttachment(attachment);
  }
  override formatAgentToolInput(input: unknown) {
    return `Research this and name your sources: ${JSON.stringify(input)}`;
  }
  override getAgentToolOutput() {
    return { sources: this.sources };
  }
  override getAgentToolSummary() {
    return `Found ${this.sources.length} sources.`;
  }
  override authorizeApproval({ by }: ApprovalAuthorizationContext) {
    return by !== null || { allowed: false, reason: "Log in to decide." };
  }
  override identifyApprover({ connection }: ApprovalCaller) {
    return (connection?.state as { user?: string } | null)?.user;
  }
  override browser = cloudflareBrowser();
  override budgetUnpricedModels = "allow" as const;
  override getBudgets({ connection }: BudgetContext): BudgetLimit[] {
    const user = (connection?.state as { user?: string } | null)?.user ?? "nobody";
    return [
      { per: "turn", limit: usd(0.5) },
      { per: { key: user, each: "day" }, limit: usd(2.5), then: "ask" }
    ];
  }
  override getPrices() {
    return [{ provider: "openai", model: "gpt-5", input: 1, output: 8 }, ...PRICES];
  }
  override getMessengers() {
    const { TELEGRAM_BOT_TOKEN: token, TELEGRAM_WEBHOOK_SECRET_TOKEN: secretToken } = this.env;
    return defineMessengers({ telegram: telegramMessenger({ token, userName: "support_bot", secretToken }) });
  }
  override async authorizeMessengerConversation(request: Request) {
    return (await staffOf(request)) !== undefined;
  }
  override configureChannels() {
    return defineChannels({ web: { kind: "web", instructions: "Answer with headings and tables." } });
  }
  override plainChat = false;
  override openAIEndpoint = true; // onBeforeRequest of the route checks the API key
  override toolDiscovery = { keep: ["create_ticket", "calendar"], maxActive: 20 };
  override getExecuteRuntime() {
    return createExecuteRuntime(this, { tools: this.ownTools() });
  }
  override describePausedExecution({ method }: PendingExecution) {
    return method === "publish_note" ? { summary: "Publishes the note for everyone." } : undefined;
  }
  override extensionLoader = this.env.LOADER;
  override hookTimeout = 10_000;
  override getExtensions() {
    return [{ manifest: { name: "audit", version: "1.0.0" }, source: auditSource }];
  }
  override async authorizeInspection(request: Request, access: InspectionAccess) {
    return access === "read" && (await isAdministrator(request));
  }
  override inspectionActs = "never" as const;
  override inspectionModels() {
    return { small: openai("gpt-5-mini"), large: openai("gpt-5") };
  }
  override waitForMcpConnections = { timeout: 5_000 };
  override maxMcpTools = 40;
  override mcpApproval({ serverId, annotations }: McpToolInfo) {
    return serverId !== "docs" || annotations?.readOnlyHint !== true;
  }
  override modelFallback = { hedgeAfterMs: 4_000, sendModels: true };
  override getModels(): LanguageModel[] {
    return [this.getModel(), "openai/gpt-5"];
  }
  override onModelFailure({ classification, decision }: ModelFailureContext) {
    return classification === "context_overflow" ? { action: "fail" as const } : decision;
  }
  override getSkills() {
    return [skills.r2(this.env.SKILLS_BUCKET, { prefix: "skills/" })];
  }
  override getSkillScriptRunner() {
    return skills.runner({ workspaceInstance: this.workspace });
  }
  override onSteer({ kind }: SteerContext): SteerDecision | void {
    if (kind === "steer" && this.isPublishing) return { action: "accept", kind: "follow-up" };
  }
  override submissionRetentionMs = 7 * 24 * 3_600_000;
  override authorizeSubmission(request: Request) {
    return hasBearerToken(request, this.env.WEBHOOK_SECRET);
  }
  override onSubmissionStatus({ submissionId, status }: ThinkSubmissionInspection) {
    if (status === "error") console.error(`Submission ${submissionId} failed.`);
  }
  override getScheduledTasks(): ThinkScheduledTasks {
    return { digest: { schedule: "every day at 09:00 in Europe/London", prompt: "Write the daily digest." } };
  }
  override getDefaultTimezone() {
    return "Europe/London";
  }
  override webFetch = { allow: ["docs.example.com"], timeout: 10_000 };
  override webSearch = brave();
  override workspace = new Workspace({ sql: this.ctx.storage.sql, r2: this.env.FILES, name: () => this.name });
  override workspaceTools = false;
  override workspaceBash = { timeout: 10_000 };
  override authorizeWorkspace({ action, path, request }: WorkspaceAccess) {
    const isOwner = hasBearerToken(request, this.env.OWNER_TOKEN);
    return isOwner || (action === "read" && path.startsWith("/public/"));
  }
}
