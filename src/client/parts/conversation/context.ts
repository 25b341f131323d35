// How a part deep in a message reaches the conversation it belongs to. Only what is pending now can be decided; a card
// whose call is not in the list is a memory. Three contexts, so that a word of an answer renders no card of another one.
import { createContext, useContext } from "react";
import type { AgentRun, WaitingApproval } from "../think.ts";
import type { ConversationView } from "./use-conversation.ts";

/** A call of executed code, as the agent recorded it. */
export interface ProgramCall {
  readonly name: string;
  readonly state: string;
}

export interface Decisions {
  readonly pending: readonly WaitingApproval[];
  /** With another input, if one is given. */
  approve(asked: WaitingApproval, change?: { readonly input?: unknown }): Promise<unknown>;
  reject(asked: WaitingApproval, reason?: string): Promise<unknown>;
  /** What a program of the model has called so far. */
  callsOfProgram(executionId: string): Promise<readonly ProgramCall[]>;
}

const NO_DECISIONS: Decisions = {
  pending: [],
  approve: () => Promise.resolve(),
  reject: () => Promise.resolve(),
  callsOfProgram: () => Promise.resolve([])
};

export const DecisionsContext = createContext<Decisions>(NO_DECISIONS);

export function useDecisions(): Decisions {
  return useContext(DecisionsContext);
}

/** The element of a waiting call, for finding it again from elsewhere on the page. */
export function approvalElementId(callId: string): string {
  return `approval-${callId}`;
}

export interface Runs {
  readonly runs: readonly AgentRun[];
  /** The one whose conversation the page shows. */
  readonly openRunId: string | undefined;
  /** Without it a card offers no way into the conversation of its run. */
  readonly onOpenRun: ((run: AgentRun) => void) | undefined;
}

export const RunsContext = createContext<Runs>({ runs: [], openRunId: undefined, onOpenRun: undefined });

export function useRunsOf(callId: string): Runs {
  const { runs, openRunId, onOpenRun } = useContext(RunsContext);
  return { runs: runs.filter((run) => run.callId === callId), openRunId, onOpenRun };
}

export const ConversationContext = createContext<ConversationView | undefined>(undefined);

/**
 * The conversation that the nearest `ChatRoot` shows, for parts of your own.
 *
 * @example
 * function Count() {
 *   return <p>{useChatRoot().messages.length} messages</p>;
 * }
 */
export function useChatRoot(): ConversationView {
  const conversation = useContext(ConversationContext);
  if (conversation === undefined) throw new Error("This part of a chat stands outside of <ChatRoot>.");
  return conversation;
}
