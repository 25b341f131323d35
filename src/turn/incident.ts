// The interruption of a turn as user code sees it: identity, budget and what is left of the answer. One incident
// per turn, however often it is interrupted: retries and continuations share its budget.
import type { UIMessage } from "ai";
import type { EventPayloads } from "../observe/events.ts";
import type { Json } from "../util/json.ts";
import type { RecoveredPartial } from "./partial.ts";
import type { Budget, RecoveryLimits } from "./retry-policy.ts";
import type { Turn } from "./turn.ts";

export interface RecoveryPolicy extends RecoveryLimits {
  /** False: an interrupted turn ends where it was. */
  readonly enabled: boolean;
  /** What people are shown when a turn is given up. */
  readonly terminalMessage: string;
}

export interface RecoveryIncident {
  readonly incidentId: string;
  readonly requestId: string;
  readonly recoveryRootRequestId: string;
  /** Counts from 1; back to 1 after progress. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly recoveryKind: "retry" | "continue";
  /** Empty when nothing was streamed. */
  readonly streamId: string;
  /** When the turn was accepted. */
  readonly createdAt: number;
  readonly partialText: string;
  readonly partialParts: UIMessage["parts"];
  /** What `stash` was given last. */
  readonly recoveryData: Json;
  /** Units of progress since the first interruption, and the time since then. */
  readonly work: number;
  readonly ageMs: number;
}

/** What becomes of the partial answer, and of the turn. */
export interface RecoveryChoice {
  readonly persist: boolean;
  readonly continue: boolean;
}

export interface IncidentInit {
  readonly turn: Turn;
  readonly partial: RecoveredPartial;
  readonly budget: Budget;
  readonly policy: RecoveryPolicy;
  readonly nowMs: number;
}

export function incidentOf({ turn, partial, budget, policy, nowMs }: IncidentInit): RecoveryIncident {
  const { requestId, inputMessageIds, continuation } = turn.view;
  const parts = partial.fold.message.parts;
  return {
    incidentId: incidentId(requestId, inputMessageIds),
    requestId,
    recoveryRootRequestId: requestId,
    attempt: budget.attempt,
    maxAttempts: policy.maxAttempts,
    recoveryKind: continuation || partial.progress !== "nothing" ? "continue" : "retry",
    streamId: turn.fold.contentSequence > 0 ? turn.view.turnId : "",
    createdAt: turn.admitted.at,
    partialText: parts.map((part) => (part.type === "text" ? part.text : "")).join(""),
    partialParts: parts.filter((part) => part.type !== "step-start"),
    recoveryData: turn.fold.stash,
    work: budget.work,
    ageMs: nowMs - budget.openedAt
  };
}

/** The same over all attempts of a turn. */
export function incidentId(requestId: string, inputMessageIds: readonly string[]): string {
  return `${requestId}:${inputMessageIds.at(-1) ?? ""}`;
}

/** What events tell of it. */
export type IncidentEvent = EventPayloads["chat:recovery:attempt"];

export function eventOfIncident(incident: RecoveryIncident): IncidentEvent {
  const { incidentId, requestId, attempt, maxAttempts, recoveryKind } = incident;
  return { incidentId, requestId, attempt, maxAttempts, recoveryKind };
}
