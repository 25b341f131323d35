// Runs of sub-agents as a feature of every Think: a parent of its children, and a child of its parent. A class that uses
// neither has no row of it.
import type { UIMessage } from "ai";
import { runtimeOf } from "../agent/runtime.ts";
import { ChildRuns } from "../agent/agent-tools/child-runs.ts";
import { OWN_RUN_TABLES, OwnRuns } from "../agent/agent-tools/own-run.ts";
import { provideAgentTools } from "../agent/agent-tools/registry.ts";
import { RUN_TABLES } from "../agent/agent-tools/run-table.ts";
import { AgentToolsAgent } from "./agent-tools-agent.ts";
import type { Feature, FeatureFactory, FeatureHost } from "./feature.ts";
import { checkMessages } from "./turn-input.ts";

export interface AgentToolsInit {
  readonly message: (messageId: string) => UIMessage | undefined;
  /** Adds a message to the conversation, once per key. */
  readonly post: (text: string, key: string) => Promise<void>;
}

export function agentToolsFeature(init: AgentToolsInit): FeatureFactory {
  return (host) => openAgentTools(host, init);
}

function openAgentTools(host: FeatureHost, { message, post }: AgentToolsInit): Feature {
  const { turns } = host;
  // Every Think is one.
  const agent = host.agent as AgentToolsAgent;
  const runtime = runtimeOf(agent);
  const children: ChildRuns = new ChildRuns({
    runtime,
    settings: () => ({
      maxConcurrent: agent.maxConcurrentAgentTools,
      maxQueued: agent.maxQueuedAgentTools,
      noProgressMs: agent.agentToolNoProgressMs,
      retention: agent.agentToolRetention
    }),
    hooks: {
      onStart: (run) => agent.onAgentToolStart(run),
      onFinish: (run, result) => agent.onAgentToolFinish(run, result),
      wantsFinish: agent.onAgentToolFinish !== AgentToolsAgent.prototype.onAgentToolFinish,
      post,
      toolNamed: (name) => toolNamed(host, name)
    },
    turns: {
      current: () => turns.current(),
      isOpen: (turnId) => turns.isTurnOpen(turnId),
      isStopped: (turnId) => turns.isStopped(turnId),
      beat: (turnId) => turns.beat(turnId),
      // Between attempts the class's own limit is what is known.
      tokensLeft: (turnId) => turns.tokensLeft(turnId) ?? host.overrides.maxTurnTokens - children.tokensOf(turnId)
    },
    validate: host.validate
  });
  const own = new OwnRuns({
    sql: host.sql,
    clock: host.clock,
    ids: host.ids,
    turns,
    methods: agent,
    checkMessage: (given) => checkedMessage(given),
    message,
    inAgent: host.inAgent,
    background: host.background,
    report: (error) => runtime.report(error),
    childTokens: (turnId) => children.tokensOf(turnId),
    childActivityAt: () => children.activeAt
  });
  provideAgentTools(agent, { children, own });
  return {
    name: "agent-tools",
    tables: [...RUN_TABLES, ...OWN_RUN_TABLES],
    ready: () => own.resume(),
    stop: () => children.stop(),
    nextWake: (nowMs) => earliest(children.nextWake(nowMs), own.nextWake(nowMs)),
    runDue: async () => void (await Promise.all([children.runDue(), own.runDue()])),
    inTurn: ({ turnId, requestId }) => {
      const limit = own.tokenLimit(requestId);
      return { tokens: { used: () => children.tokensOf(turnId), ...(limit !== undefined && { limit }) } };
    },
    keepsOutcome: ({ messageId }, call) => children.keepsCall(messageId, call),
    lateOutcome: (turn, call) => children.lateOutcome(turn, call),
    settled: (turn, outcome) => {
      own.settled(turn, outcome);
      children.settled(turn.turnId, outcome);
    },
    cleared: () => children.cleared(),
    connected: (connection) => children.connected(connection)
  };
}

/** The class may fail to say: then the call is one of which nothing is known. */
function toolNamed({ overrides }: FeatureHost, name: string): unknown {
  try {
    const tools = overrides.getTools();
    return Object.hasOwn(tools, name) ? tools[name] : undefined;
  } catch (error) {
    console.warn("getTools() failed while an interrupted turn was looked at:", error);
    return undefined;
  }
}

function checkedMessage(given: unknown): UIMessage {
  const [message] = checkMessages([given]);
  if (!message) throw new TypeError("A message was expected.");
  return message;
}

function earliest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
