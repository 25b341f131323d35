// What runs of sub-agents have to do with a conversation: turns that wait for children, and, as a child itself, the turn
// that answers a parent. A class that uses neither has no row of it.
import type { UIMessage } from "ai";
import { OWN_RUN_TABLES, OwnRuns } from "./own-run.ts";
import { GIVEN_STEER_TABLES } from "./given-steers.ts";
import { OWN_RUN_TURN_TABLES } from "./run-stream.ts";
import type { ChildRuns } from "./child-runs.ts";
import type { Feature } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { rootOf, type TurnView } from "../../turn/turn.ts";

export interface OwnRunsFeature extends Feature {
  readonly own: OwnRuns;
}

export function openOwnRuns(services: ChatServices, children: ChildRuns): OwnRunsFeature {
  const { turns } = services;
  children.conversation = {
    currentTurn: () => turns.current(),
    isOpen: (turnId) => turns.isTurnOpen(turnId),
    openTurns: () => turns.openTurnIds,
    isStopped: (turnId) => turns.isStopped(turnId),
    beat: (turnId) => turns.beat(turnId),
    // Between attempts the class's own limit is what is known.
    tokensLeft: (turnId) => turns.tokensLeft(turnId) ?? services.overrides.maxTurnTokens - children.tokensOf(turnId),
    post: (text, key) => {
      const message: UIMessage = { id: services.ids.next(), role: "assistant", parts: [{ type: "text", text }] };
      return services.addMessages([message], { idempotencyKey: key });
    },
    passing: turns.steering.passing,
    toolNamed: (name) => toolNamed(services, name)
  };
  const own = new OwnRuns(services, children);
  turns.listen({
    receipt({ state }) {
      // In its own tick: all listeners are told that it was accepted before that it was passed.
      if (state === "accepted") services.background(Promise.resolve().then(() => children.steers.pass()));
    }
  });
  return {
    name: "agent-tool-runs",
    own,
    tables: [...OWN_RUN_TABLES, ...OWN_RUN_TURN_TABLES, ...GIVEN_STEER_TABLES],
    roles: {
      ownRuns: { goesOn: (turnId, next) => own.goesOn(turnId, next), notGranted: (turnId) => own.notGranted(turnId) }
    },
    start() {
      own.adopt();
      children.steers.giveBackLost();
    },
    ready: () => own.work.ready(),
    stop: () => own.work.stop(),
    nextWake: () => own.work.nextWake(),
    runDue: () => own.work.runDue(),
    inTurn: (turn: TurnView) => {
      const { turnId } = turn;
      const limit = own.tokenLimit(rootOf(turn).requestId);
      return { tokens: { used: () => children.tokensOf(turnId), limit } };
    },
    calls: {
      keepsOutcome: ({ messageId }, call) => children.keepsCall(messageId, call),
      lateOutcome: (turn, call) => children.lateOutcome(turn, call)
    },
    settled: (turn, outcome) => {
      own.settled(turn, outcome);
      children.settled(turn.turnId, outcome);
    },
    cleared: () => children.cleared()
  };
}

/** The class may fail to say: then the call is one of which nothing is known. */
function toolNamed({ overrides }: ChatServices, name: string): unknown {
  try {
    const tools = overrides.getTools();
    return Object.hasOwn(tools, name) ? tools[name] : undefined;
  } catch (error) {
    console.warn("getTools() failed while an interrupted turn was looked at:", error);
    return undefined;
  }
}
