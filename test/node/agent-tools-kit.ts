// A parent with children as tools. The models answer by plan or by script; what must outlive the process is in `scene`.
import type { LanguageModel, ToolSet, UIMessage } from "ai";
import { z } from "zod";
import { Agent } from "../../src/agent-class/index.ts";
import { agentTool, Think, type AgentToolRunInfo, type RunAgentToolResult } from "../../src/index.ts";
import type {
  AgentToolOptions,
  AgentToolRetention,
  RunAgentToolOptions
} from "../../src/features/agent-tools/index.ts";
import type { AgentEvent } from "../../src/observe/index.ts";
import {
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  toolCall,
  type RecordedCall,
  type Script,
  type Step,
  type StepFunction,
  type TestSocket
} from "../../src/testing/index.ts";
import { type Frame, framesOf } from "../kit/frames.ts";
import { storedMessages, user } from "../kit/messages.ts";

export interface Settings {
  maxConcurrent?: number;
  maxQueued?: number;
  noProgressMs?: number;
  maxTurnTokens?: number;
  childMaxTokens?: number;
  retention?: AgentToolRetention;
  /** How long the parent's turn may be silent, its tools included. */
  stallMs?: number;
  /** Clients of a child may only watch. */
  isWatchOnly?: boolean;
}

export interface Scene {
  parent: Script;
  child: Script;
  grandchild: Script;
  /** What hooks saw and tools did, in order. */
  trace: string[];
  events: AgentEvent[];
  tools: (agent: Parent) => ToolSet;
  settings: Settings;
  childTools: () => ToolSet;
  output: ((runId: string) => unknown) | undefined;
  startHook: ((run: AgentToolRunInfo) => void) | undefined;
  /** What `onAgentToolFinish`, and the method of a background run, wait for. */
  finishHook: ((run: AgentToolRunInfo) => unknown) | undefined;
  /** In place of the scripts. */
  models: { parent: LanguageModel; child: LanguageModel; grandchild: LanguageModel } | undefined;
  /** The child cannot start. */
  childFails: boolean;
  /** What the child waits for: when it starts, and when it reads its input. */
  childWaits: { start?: Promise<unknown>; input?: Promise<unknown> };
}

export const scene: Scene = emptyScene();

function emptyScene(): Scene {
  return {
    parent: createScript([]),
    child: createScript([]),
    grandchild: createScript([]),
    trace: [],
    events: [],
    tools: () => ({ research: research() }),
    settings: {},
    childTools: () => ({}),
    output: undefined,
    startHook: undefined,
    finishHook: undefined,
    models: undefined,
    childFails: false,
    childWaits: {}
  };
}

export class Parent extends Think {
  override observability = { emit: (event: AgentEvent) => void scene.events.push(event) };
  override maxConcurrentAgentTools = scene.settings.maxConcurrent ?? Infinity;
  override maxQueuedAgentTools = scene.settings.maxQueued ?? 0;
  override agentToolNoProgressMs = scene.settings.noProgressMs;
  override maxTurnTokens = scene.settings.maxTurnTokens ?? Infinity;
  override agentToolRetention = scene.settings.retention ?? {};
  override chatStreamStallTimeoutMs = scene.settings.stallMs;
  override getModel() {
    return scene.models?.parent ?? scriptedModel(scene.parent);
  }
  override getTools() {
    return scene.tools(this);
  }
  override onAgentToolStart(run: AgentToolRunInfo) {
    scene.trace.push(`start ${run.agentType} ${run.inputPreview}`);
    scene.startHook?.(run);
  }
  override async onAgentToolFinish(run: AgentToolRunInfo, { status }: RunAgentToolResult) {
    scene.trace.push(`finish ${run.agentType} ${run.status === status ? status : `${run.status}/${status}`}`);
    await scene.finishHook?.(run);
  }
  async onReport(run: AgentToolRunInfo, { summary }: RunAgentToolResult) {
    scene.trace.push(`report ${run.agentType} ${summary}`);
    await scene.finishHook?.(run);
  }
  run(options: RunAgentToolOptions): Promise<RunAgentToolResult> {
    return this.runAgentTool(Researcher, options);
  }
  /** All in one tick. */
  runTogether(count: number): Promise<RunAgentToolResult[]> {
    const ids = Array.from({ length: count }, (_, index) => `r${index}`);
    return Promise.all(ids.map((runId) => this.runAgentTool(Researcher, { input: "x", runId })));
  }
  runs() {
    return this.listAgentToolRuns();
  }
  runStopped(isStopped: boolean): Promise<RunAgentToolResult> {
    return this.runAgentTool(Researcher, { input: "x", ...(isStopped && { signal: AbortSignal.abort("too late") }) });
  }
  async scheduledRun(input: string) {
    await this.runAgentTool(Researcher, { input });
  }
  async startTwice(runId: string) {
    const child = await this.subAgent(Researcher, runId);
    const started = await Promise.all(["a", "b"].map((input) => child.startAgentToolRun(input, { runId })));
    return started.map((run) => run?.status);
  }
  killChild(runId: string) {
    this.abortSubAgent(Researcher, runId, "killed");
  }
  dropChild(runId: string) {
    return this.deleteSubAgent(Researcher, runId);
  }
  async tailOf(runId: string): Promise<string> {
    const child = await this.subAgent(Researcher, runId);
    return new Response(await child.tailAgentToolRun(runId)).text();
  }
  async inspectChild(runId: string) {
    return (await this.subAgent(Researcher, "r")).inspectAgentToolRun(runId);
  }
}

export class Researcher extends Think {
  override maxTurnTokens = scene.settings.childMaxTokens ?? Infinity;
  override getModel() {
    return scene.models?.child ?? scriptedModel(scene.child);
  }
  override getTools() {
    return scene.childTools();
  }
  override shouldConnectionBeReadonly() {
    return scene.settings.isWatchOnly ?? false;
  }
  override async onStart() {
    scene.trace.push("child starts");
    if (scene.childFails) throw new Error("no disk");
    await scene.childWaits.start;
  }
  override async formatAgentToolInput(input: unknown) {
    await scene.childWaits.input;
    return super.formatAgentToolInput(input);
  }
  override getAgentToolOutput(runId: string) {
    return scene.output?.(runId);
  }
}

/** No chat agent. */
export class Bystander extends Agent {}

/** Works for a researcher. */
export class Reader extends Think {
  override getModel() {
    return scene.models?.grandchild ?? scriptedModel(scene.grandchild);
  }
}

export function research(options: Partial<AgentToolOptions<{ query: string }>> = {}) {
  return agentTool(Researcher, {
    description: "Research one topic in depth.",
    inputSchema: z.object({ query: z.string() }),
    displayName: "Researcher",
    ...options
  });
}

export function readTool() {
  return agentTool(Reader, { description: "Read a page.", inputSchema: z.object({ page: z.string() }) });
}

/** Steps per agent, or one function that answers every call. */
export interface Scripts extends Partial<
  Pick<Scene, "tools" | "settings" | "childTools" | "output" | "startHook" | "finishHook">
> {
  readonly parent?: Step[] | StepFunction;
  readonly child?: Step[] | StepFunction;
  readonly grandchild?: Step[] | StepFunction;
}

export function open({ parent = [], child = [], grandchild = [], ...others }: Scripts = {}) {
  const maxCalls = 10_000;
  Object.assign(scene, emptyScene(), others, {
    parent: createScript(parent, { maxCalls }),
    child: createScript(child, { maxCalls }),
    grandchild: createScript(grandchild, { maxCalls })
  });
  return createTestHost({ agents: { Parent }, exports: [Researcher, Reader, Bystander] });
}

export type Host = ReturnType<typeof open>;

/** The parent's model calls the researcher. */
export const callsResearch = reply(toolCall("research", { query: "tides" }, { id: "call-1" }));
export const done = reply(text("Done."));

export const parentOf = (host: Host) => host.get(Parent, "p");

export const ask = async (host: Host, text: string) => (await parentOf(host)).saveMessages([user(text)]);

export const stored = (host: Host) => storedMessages(host, "/agents/parent/p");

export const answerOf = (messages: UIMessage[]): string =>
  messages
    .at(-1)
    ?.parts.flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("") ?? "";

export const connect = (host: Host) => host.connect("/agents/parent/p");

export interface EventFrame {
  type: "agent-tool-event";
  parentToolCallId?: string;
  sequence: number;
  replay?: boolean;
  event: { kind: string; runId: string; body?: string; [field: string]: unknown };
}

export const eventFrames = (socket: TestSocket): EventFrame[] =>
  framesOf(socket).filter((frame): frame is Frame & EventFrame => frame.type === "agent-tool-event");

/** The kinds of events, chunks counted. */
export const kinds = (frames: EventFrame[]): string[] => frames.map(({ event }) => event.kind);

/** The results the model was shown, by tool call. */
export const results = (call: RecordedCall | undefined): unknown[] =>
  call?.prompt.flatMap((message) =>
    message.role === "tool"
      ? message.content.flatMap((part) => (part.type === "tool-result" ? [part.output.value] : []))
      : []
  ) ?? [];
