// How a card deep in a message reaches the conversation it belongs to, to decide over a call. Only what is pending now
// can be decided; a card whose call is not in the list is a memory.
import { createContext, useContext } from "react";
import type { WaitingApproval } from "everthink/client";
import type { CalledFromCode } from "../../shared/demo.ts";

export interface Decisions {
  readonly pending: readonly WaitingApproval[];
  approve(asked: WaitingApproval): Promise<unknown>;
  reject(asked: WaitingApproval, reason?: string): Promise<unknown>;
  /** What a program of the model has called so far. */
  calledFromCode(executionId: string): Promise<readonly CalledFromCode[]>;
}

const NOBODY: Decisions = {
  pending: [],
  approve: () => Promise.resolve(),
  reject: () => Promise.resolve(),
  calledFromCode: () => Promise.resolve([])
};

export const DecisionsContext = createContext<Decisions>(NOBODY);

export function useDecisions(): Decisions {
  return useContext(DecisionsContext);
}

/** The element of a waiting call, for finding it again from elsewhere on the page. */
export function approvalElementId(callId: string): string {
  return `approval-${callId}`;
}
