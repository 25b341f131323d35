// What runs of sub-agents have to do with a conversation: turns that wait for children, and, as a child itself, the turn
// that answers a parent. A class that uses neither has no row of it.
import type { UIMessage } from "ai";
import { runtimeOf } from "../../agent/runtime.ts";
import { OWN_RUN_TABLES, OwnRuns } from "./own-run.ts";
import { childRunsOf } from "./registry.ts";
import { RUN_TABLES } from "./run-table.ts";
import { provideOwnRuns, type ChildRunAgent } from "./child-run-agent.ts";
import type { Feature, FeatureFactory, FeatureHost } from "../../feature/feature.ts";
import { checkMessages } from "../../think/turn-input.ts";

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
  const agent = host.agent as ChildRunAgent;
  const children = childRunsOf(agent);
  children.conversation = {
    currentTurn: () => turns.current(),
    isOpen: (turnId) => turns.isTurnOpen(turnId),
    openTurns: () => turns.openTurnIds,
    isStopped: (turnId) => turns.isStopped(turnId),
    beat: (turnId) => turns.beat(turnId),
    // Between attempts the class's own limit is what is known.
    tokensLeft: (turnId) => turns.tokensLeft(turnId) ?? host.overrides.maxTurnTokens - children.tokensOf(turnId),
    post,
    toolNamed: (name) => toolNamed(host, name)
  };
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
    rearm: host.rearm,
    report: (error) => runtimeOf(agent).report(error),
    childTokens: (turnId) => children.tokensOf(turnId),
    childActivityAt: () => children.activeAt
  });
  provideOwnRuns(agent, own);
  return {
    name: "agent-tools",
    tables: [...RUN_TABLES, ...OWN_RUN_TABLES],
    ready: () => own.resume(),
    nextWake: (nowMs) => own.nextWake(nowMs),
    runDue: () => own.runDue(),
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
    cleared: () => children.cleared()
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
