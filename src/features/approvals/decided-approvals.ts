// Decisions over approvals that were taken: which, when, by whom. When is a change of the conversation, what was
// decided is in the stored call, and the name is in the change or in the ledger of actions.
import type { UIMessage } from "ai";
import { changeOf } from "../../journal/history.ts";
import type { ConversationChanged } from "../../journal/records.ts";
import { partsByCall, toolNameOf, type ToolPart } from "../../model/index.ts";
import { isObject } from "../../util/json.ts";
import type { ActionLedgerEntry } from "../../feature/approval-contract.ts";
import type { ChatServices } from "../../feature/services.ts";

/** The newest that are listed. */
export const LISTED_DECISIONS = 50;
const MAX_CHANGES = 1000;
const MAX_LEDGER_ROWS = 500;

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
}

export interface AskedCalls {
  readonly callIds: ReadonlySet<string>;
  /** The answer they belong to; undefined: any. After a compaction a model may name calls of later turns alike. */
  readonly messageId?: string | null;
}

/** Lists decisions over calls, newest first: over all calls, or over those that are asked for. */
export function listDecidedApprovals(services: ChatServices, of?: AskedCalls): DecidedApproval[] {
  const changes = services.journal.history.changes(0, MAX_CHANGES).flatMap((row) => changeOf(row) ?? []);
  const asked = changes.filter(({ change, why, callId, messageIds }) => {
    if (change !== "answer-placed" || (why !== "approval" && why !== "action") || callId === null) return false;
    if (of === undefined) return true;
    return of.callIds.has(callId) && (of.messageId === undefined || messageIds[0] === of.messageId);
  });
  if (asked.length === 0) return [];
  services.features.bringAll();
  const ledger = Map.groupBy(
    services.features.role("actionLedger")?.({ limit: MAX_LEDGER_ROWS }) ?? [],
    ({ toolCallId }) => toolCallId
  );
  // Code that waits more than once has several changes: the newest tells.
  const newest = new Map(asked.map((change) => [`${change.messageIds[0]} ${change.callId}`, change]));
  const listed = [...newest.values()].toReversed().slice(0, LISTED_DECISIONS);
  // One answer may hold all of their calls: it is read once.
  const parts = new Map<string, ReadonlyMap<string, ToolPart>>();
  for (const [id = ""] of listed.map(({ messageIds }) => messageIds)) {
    if (!parts.has(id)) parts.set(id, partsOf(services, id));
  }
  return listed.flatMap((change) => {
    const { callId, messageIds } = change;
    const part = parts.get(messageIds[0] ?? "")?.get(callId ?? "");
    return decisionOf(change, part, part && entryOf(ledger.get(callId ?? "") ?? [], change, part)) ?? [];
  });
}

/** Of entries of one call id, the one of the call's own action, and of those the one that was made when it was decided. */
function entryOf(
  all: readonly ActionLedgerEntry[],
  { at }: ConversationChanged,
  part: ToolPart
): ActionLedgerEntry | undefined {
  const name = toolNameOf(part);
  const own = all.filter(({ action }) => action === name);
  const distance = ({ startedAt }: ActionLedgerEntry) => Math.abs(startedAt - at);
  return (own.length > 0 ? own : all).toSorted((first, second) => distance(first) - distance(second))[0];
}

function partsOf(services: ChatServices, messageId: string): ReadonlyMap<string, ToolPart> {
  // Messages of an agent are the SDK's.
  const stored = services.store.getShown(messageId) as UIMessage | null;
  return stored ? partsByCall(stored) : new Map();
}

/** Undefined: the call is gone, or it waits again. */
function decisionOf(
  { at, why, callId, decidedBy }: ConversationChanged,
  part: ToolPart | undefined,
  entry: ActionLedgerEntry | undefined
): DecidedApproval | undefined {
  if (!part || callId === null) return undefined;
  const output: Record<string, unknown> = isObject(part.output) ? part.output : {};
  if (why === "action" && output["status"] === "paused") return undefined;
  // What an action that ran returned is its own, whatever it says.
  const status = entry?.status === "settled" ? undefined : output["status"];
  const isExpired = why === "action" && status === "expired";
  const isRefused = entry?.status === "refused" || status === "rejected" || isExpired;
  const reason: unknown = why === "approval" ? part.approval?.reason : isRefused ? output["reason"] : undefined;
  return {
    callId,
    kind: why === "approval" ? "tool" : "action",
    name: toolNameOf(part),
    approved: why === "approval" ? part.approval?.approved === true : !isRefused,
    expired: isExpired || undefined,
    by: decidedBy ?? entry?.approver ?? null,
    reason: typeof reason === "string" ? reason.slice(0, 500) : null,
    at: why === "action" ? (entry?.startedAt ?? at) : at
  };
}
