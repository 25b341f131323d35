// Decisions over approvals as inspectors show them: the rows of the decision log. Decisions of versions that kept no such row
// are read from the changes of the conversation, and what was decided from the stored call.
import type { UIMessage } from "ai";
import { changeOf } from "../../journal/history.ts";
import type { ConversationChanged } from "../../journal/records.ts";
import { partsByCall, toolNameOf, type ToolPart } from "../../model/index.ts";
import { isObject, type Json } from "../../util/json.ts";
import type { ChatServices } from "../../feature/services.ts";
import { DecisionLog, type CallFilter, type RecordedDecision } from "./decision-log.ts";

/** The newest that are listed. */
export const LISTED_DECISIONS = 50;
const MAX_CHANGES = 1000;

export interface DecidedApproval {
  readonly callId: string;
  /** "action": it was parked. "tool": a call of a turn. */
  readonly kind: "action" | "tool";
  readonly name: string;
  readonly approved: boolean;
  /** It was not decided in time. */
  readonly expired?: true;
  /** Who decided: a user of a messenger (`telegram:7`), a name of the application, or `unverified:` and a client's claim. */
  readonly by: string | null;
  readonly reason: string | null;
  readonly at: number;
  /** Through what the decision came: a messenger's id, "socket", "http", or "code" of the server; null: not known. */
  readonly surface: string | null;
  /** Of the question that was decided; null: not known. */
  readonly inputHash: string | null;
  /** What the call ran with in place of the input that was asked about. */
  readonly input?: Json;
  /** Of that input. */
  readonly changedHash?: string;
}

/** Lists decisions over calls, newest first: over all calls, or over those that are asked for. */
export function listDecidedApprovals(services: ChatServices, of: CallFilter = {}): DecidedApproval[] {
  const recorded = new DecisionLog(services).list(of, LISTED_DECISIONS);
  if (recorded.length === LISTED_DECISIONS) return recorded.map(shown);
  const known = new Set(recorded.map(({ messageId, callId }) => placeOf(messageId, callId)));
  const older = decidedChanges(services, of).filter(
    ({ messageIds, callId }) => !known.has(placeOf(messageIds[0], callId))
  );
  return [...recorded.map(shown), ...withoutRecord(services, older)].slice(0, LISTED_DECISIONS);
}

function shown({
  source,
  name,
  callId,
  answer,
  by,
  reason,
  at,
  surface,
  inputHash,
  input,
  changedHash
}: RecordedDecision) {
  return {
    ...{ callId, name, by, at, surface },
    kind: source === "tool" ? ("tool" as const) : ("action" as const),
    approved: answer === "approved",
    ...(answer === "expired" && { expired: true as const }),
    reason: reason?.slice(0, MAX_SHOWN_REASON_CHARS) ?? null,
    inputHash: inputHash ?? null,
    ...(input !== undefined && { input, changedHash })
  };
}

const MAX_SHOWN_REASON_CHARS = 500;

// ── Decisions of earlier versions ──

/** Newest first. */
function decidedChanges(services: ChatServices, { callIds, messageId }: CallFilter): ConversationChanged[] {
  const changes = services.journal.history.changes(0, MAX_CHANGES).flatMap((row) => changeOf(row) ?? []);
  const decided = changes.filter(({ change, why, callId, messageIds }) => {
    if (change !== "answer-placed" || (why !== "approval" && why !== "action") || callId === null) return false;
    if (callIds !== undefined && !callIds.has(callId)) return false;
    return typeof messageId !== "string" || messageIds[0] === messageId;
  });
  // Code that waits more than once has several changes: the newest tells.
  const newest = new Map(decided.map((change) => [placeOf(change.messageIds[0], change.callId), change]));
  return [...newest.values()].toReversed();
}

/** Changes of the conversation cut long ids. */
function placeOf(messageId = "", callId: string | null): string {
  return `${messageId.slice(0, 64)} ${callId?.slice(0, 64)}`;
}

function withoutRecord(services: ChatServices, changes: readonly ConversationChanged[]): DecidedApproval[] {
  // One answer may hold all of their calls: it is read once.
  const parts = new Map<string, ReadonlyMap<string, ToolPart>>();
  return changes.slice(0, LISTED_DECISIONS).flatMap((change) => {
    const [id = ""] = change.messageIds;
    const ofAnswer = parts.get(id) ?? partsOf(services, id);
    parts.set(id, ofAnswer);
    return decisionIn(change, ofAnswer.get(change.callId ?? "")) ?? [];
  });
}

function partsOf(services: ChatServices, messageId: string): ReadonlyMap<string, ToolPart> {
  // Messages of an agent are the SDK's.
  const stored = services.store.getShown(messageId) as UIMessage | null;
  return stored ? partsByCall(stored) : new Map();
}

/** Undefined: the call is gone, or it waits again. */
function decisionIn(change: ConversationChanged, part: ToolPart | undefined): DecidedApproval | undefined {
  const { at, why, callId, decidedBy: by = null } = change;
  if (!part || callId === null) return undefined;
  // What an action that ran returned is its own; outcomes of other kinds name their execution.
  const output = isObject(part.output) && typeof part.output["executionId"] === "string" ? part.output : {};
  const { status } = output;
  if (why === "action" && status === "paused") return undefined;
  const isInChat = why === "approval";
  const reason: unknown = isInChat ? part.approval?.reason : output["reason"];
  return {
    ...{ callId, by, at, name: toolNameOf(part), surface: null, inputHash: null },
    kind: isInChat ? "tool" : "action",
    approved: isInChat ? part.approval?.approved === true : status !== "rejected" && status !== "expired",
    ...(!isInChat && status === "expired" && { expired: true }),
    reason: typeof reason === "string" ? reason.slice(0, MAX_SHOWN_REASON_CHARS) : null
  };
}
