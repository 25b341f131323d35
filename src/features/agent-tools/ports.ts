// What runs need of the agent they belong to, and of its class. Any agent has them: what only one with a conversation has
// is a port of its own.
import type { AgentRuntime } from "../../agent/runtime.ts";
import type { Passing } from "../../turn/passing.ts";
import type { Backoff } from "../../util/backoff.ts";
import type { AgentToolsMembers } from "./members.ts";
import type { ChildLink } from "./child-link.ts";
import type { RunTable } from "./run-table.ts";
import type { Slots } from "./slots.ts";

/** After what failed with a child: a cancel that did not arrive, a deletion. One that fails for ever costs a wake an hour. */
export const CHILD_BACKOFF: Backoff = { baseMs: 30_000, maxMs: 3_600_000 };
/** Why a run ended that was deleted. */
export const CLEARED = "clearing agent tool run";

/** The conversation that runs belong to, if their agent has one: which turn waits for a run, and where its end is posted. */
export interface RunConversation {
  currentTurn(): { readonly turnId: string; readonly messageId: string } | undefined;
  isOpen(turnId: string): boolean;
  openTurns(): readonly string[];
  /** Whether the turn is over, or being stopped. */
  isStopped(turnId: string): boolean;
  /** Notes that the turn makes progress. */
  beat(turnId: string): void;
  tokensLeft(turnId: string): number;
  /** Messages for the running turn that runs are given; undefined: there can be none. */
  readonly passing?: Passing;
  /** Adds a text to the conversation, once per key. */
  post(text: string, key: string): Promise<void>;
  /** The definition behind a tool of the class; undefined for one that is no agent tool. */
  toolNamed(name: string): unknown;
}

/** Stands for the conversation of an agent without one: no turn waits for a run, and a wake takes up what a crash left. */
export const NO_CONVERSATION: RunConversation = {
  currentTurn: () => undefined,
  isOpen: () => false,
  openTurns: () => [],
  isStopped: () => true,
  beat: () => undefined,
  tokensLeft: () => Infinity,
  async post(text) {
    console.warn(`"notify" needs a conversation, which this agent does not have. Not posted: ${text}`);
  },
  toolNamed: () => undefined
};

/** What every part of runs works with: `ChildRuns` is one. */
export interface RunOwner {
  readonly runtime: AgentRuntime;
  /** The class's settings, which may change, and its hooks. */
  readonly agent: AgentToolsMembers;
  readonly conversation: RunConversation;
  readonly table: RunTable;
  readonly link: ChildLink;
  readonly slots: Slots;
}
