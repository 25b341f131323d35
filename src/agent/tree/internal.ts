// What agents of one tree ask of each other. A call names the agent it is for; every agent on the way passes it to the
// next child, so a child is only ever reached through its parent. All of it is plain data.
import type { ConnectionAttachment } from "../../host/connection.ts";
import type { AgentPath, AgentPathStep } from "../../host/path.ts";

/** The parts of an upgrade request a child may see; a live Request may not cross to another object. */
export interface UpgradeHead {
  url: string;
  headers: [string, string][];
}

/** Something a child does to a socket that the root owns. */
export type SocketAction =
  | { do: "send"; socketIds: string[]; data: string | ArrayBuffer }
  | { do: "close"; socketIds: string[]; code?: number; reason?: string }
  | { do: "attach"; attachment: ConnectionAttachment };

export type InternalCall =
  /** Starts the agent if it is not running. */
  | { op: "start"; props?: unknown }
  /** Its wake is due. */
  | { op: "wake" }
  | { op: "invoke"; method: string; args: unknown[] }
  /** From a workflow that the agent started. */
  | { op: "report"; report: object }
  | { op: "fetch"; request: Request }
  | { op: "connect"; attachment: ConnectionAttachment; head: UpgradeHead }
  | { op: "message"; attachment: ConnectionAttachment; data: string | ArrayBuffer }
  | { op: "close"; attachment: ConnectionAttachment; code: number; reason: string; wasClean: boolean }
  | { op: "fail"; attachment: ConnectionAttachment; error: string }
  /** A connection below changed; kept by the agents on the way, for the child's next cold start. */
  | { op: "note"; attachment: ConnectionAttachment }
  /** The schedules of the agent and its descendants, read without starting them. */
  | { op: "survey" }
  /** Schedules that the root of a tree of the original kept for this agent. */
  | { op: "adopt"; schedules: object[] }
  | { op: "spawn-child"; child: AgentPathStep }
  | { op: "remove-child"; child: AgentPathStep }
  /** Asked of the root only. */
  | { op: "arm"; path: AgentPath; at: number | null }
  | { op: "act"; actions: SocketAction[] }
  | { op: "forget"; path: AgentPath }
  | { op: "connections"; path: AgentPath };

export interface InternalEnvelope {
  /** The steps still to go down from the receiver; empty: it is for the receiver. */
  to: AgentPath;
  call: InternalCall;
  /** Live connections of the receiver and below; sent when it answered COLD. */
  connections?: ConnectionAttachment[];
}

/** The answer of a facet that does not know its connections yet; nothing was done. */
export const COLD = { isCold: true } as const;

export function isCold(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "isCold" in answer;
}

/** The answer when a step of the path is not registered with its parent. */
export const UNKNOWN_CHILD = { unknownChild: true } as const;

export function isUnknownChild(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "unknownChild" in answer;
}

/** What a user's method returned, wrapped so that it cannot be taken for an answer of ours. */
export interface Invoked {
  result: unknown;
}

/** What a facet gets at its start. */
export interface FacetIdentity {
  name: string;
  className: string;
  parentPath: AgentPath;
}
