// What a list of messages posted by a client means for the store, as this room needs to know it. The rules are the
// session's; here is the port, and the comparison that tells how much of the transcript the client already shows.
import type { UIMessage } from "ai";
import { canonicalJson, parseJson } from "../util/json.ts";
import type { ChatTrigger } from "./request-body.ts";

/**
 * How a posted list compares with the transcript it leads to: `equal` when it is the whole of it, same ids, same order,
 * same content; `part` when it only lacks messages; `different` when the client shows something else.
 */
export type ClientShows = "equal" | "part" | "different";

export interface ReconcilePlan {
  /** Messages the store does not have. They join it with the turn. */
  readonly input: readonly UIMessage[];
  /** `apply` will change stored messages. */
  readonly changesStored: boolean;
  /** The answer becomes a child of this message: a regeneration, or an edit of a message that has descendants. */
  readonly parentMessageId?: string;
  readonly clientShows: ClientShows;
}

export interface Reconciler<Plan extends ReconcilePlan = ReconcilePlan> {
  /** Pure: reads, writes nothing. What it throws is told to the client. */
  plan(posted: readonly UIMessage[], trigger: ChatTrigger): Plan;
  apply(plan: Plan): void;
}

export interface Shown {
  readonly posted: readonly UIMessage[];
  /** What is new in it, as it will be stored. */
  readonly input: readonly UIMessage[];
  /** Ids of the transcript before, oldest first. Undefined when they are not worth reading: then nothing is `equal`. */
  readonly pathIds: readonly string[] | undefined;
  /** A stored message as JSON text. */
  storedText(id: string): string | undefined;
}

export function compareShown({ posted, input, pathIds, storedText }: Shown): ClientShows {
  const joining = new Map(input.map((message) => [message.id, JSON.stringify(message)]));
  for (const message of posted) {
    const stored = joining.get(message.id) ?? storedText(message.id);
    if (stored === undefined || !isSameMessage(message, stored)) return "different";
  }
  if (!pathIds) return "part";
  const after = [...pathIds, ...joining.keys()];
  if (!isInOrder(posted, after)) return "different";
  return after.length === posted.length ? "equal" : "part";
}

/** Every posted message is in the list, in the list's order, once. */
function isInOrder(posted: readonly UIMessage[], ids: readonly string[]): boolean {
  let next = 0;
  for (const { id } of posted) {
    next = ids.indexOf(id, next) + 1;
    if (next === 0) return false;
  }
  return true;
}

/** A client that was sent the stored text usually posts it back letter by letter. */
function isSameMessage(message: UIMessage, stored: string): boolean {
  if (JSON.stringify(message) === stored) return true;
  const parsed = parseJson(stored);
  return parsed.ok && canonicalJson(parsed.value) === canonicalJson(message);
}
