// Decides what a client's list of messages means for the stored conversation. The list is untrusted and usually stale:
// from it come new user messages, new versions of user messages, and where the answer goes. Nothing is ever deleted or
// reordered by omission, and no answer is written or changed by a client: results of its tools come in commands of their own.
// Looks up only what the list names and is not shown as it was posted, which is nearly always the new message only. Pure
// over its lookup.
import { canonicalJson, isObject } from "../util/json.ts";
import { ok } from "../util/result.ts";
import { acceptPosted, withoutServerFields, withServerFields, type RejectReason } from "./posted-message.ts";
import { limitMessage } from "./row-limit.ts";
import { sanitizeMessage } from "../util/sanitize-message.ts";
import { isToolPart } from "../model/tool-part.ts";
import { checkMessage, isCompactionMessage, type SessionMessage } from "./session-message.ts";

/** A stored message, as histories show it. */
export interface StoredText {
  readonly role: string;
  /** Its JSON as stored. Parsed only when it must be. */
  readonly text: string;
}

export interface StoredLookup {
  /** A stored message that is shown exactly as it was posted: there is nothing to look up about it. */
  isAsShown(posted: SessionMessage): boolean;
  /** Stored messages among these ids. */
  texts(ids: readonly string[]): ReadonlyMap<string, StoredText>;
  /** Of a message that is not stored: accepted earlier, and not in the tree yet because a turn is running. */
  isQueued(id: string): boolean;
  hasChildren(id: string): boolean;
  parse(stored: StoredText): SessionMessage | undefined;
  /** The stored answers that hold these tool calls, by call. One walk of the active path, however many. */
  ownersOfCalls(toolCallIds: ReadonlySet<string>): ReadonlyMap<string, SessionMessage>;
  /** Answers of the active path, newest first, as far back as a client's unsent copies can be. */
  recentAnswers(): Iterable<SessionMessage>;
  /** The last message that a summary stands for; undefined for a summary that is not stored. */
  lastCovered(summaryId: string): string | undefined;
}

export interface ReconcileInput {
  readonly posted: readonly unknown[];
  readonly trigger: "submit-message" | "regenerate-message";
  readonly stored: StoredLookup;
}

export interface Rejected {
  /** Position in the posted list. */
  readonly index: number;
  readonly id?: string;
  readonly reason: RejectReason;
}

/** Where the answer goes. */
export type AnswerPlace =
  /** Below the newest message, after the appended ones. */
  | { readonly at: "leaf" }
  /** Below this stored message, beside what already follows it. */
  | { readonly at: "message"; readonly messageId: string }
  /** The message to answer again is not known here. */
  | { readonly at: "nowhere" };

export interface ReconcilePlan {
  /** New messages, in order, below the newest one. */
  readonly append: readonly SessionMessage[];
  /** New versions of stored user messages. */
  readonly update: readonly SessionMessage[];
  /** A new version of an answered message; the old one becomes a branch beside it. The answer goes below it. */
  readonly edit: SessionMessage | undefined;
  readonly answer: AnswerPlace;
  /** What the client calls answers that are stored under another id. */
  readonly aliases: ReadonlyMap<string, string>;
  readonly rejected: readonly Rejected[];
}

interface Accepted {
  readonly index: number;
  readonly message: SessionMessage;
  /** It is shown as it was posted. */
  readonly isUnchanged: boolean;
}

export function reconcile(input: ReconcileInput): ReconcilePlan {
  const rejected: Rejected[] = [];
  const accepted = accept(input, rejected);
  const known = lookUpAll(input.stored, accepted);
  const { stored } = known;
  const aliases = aliasesOf(input, accepted, known);
  // A client whose list ends in a summary says nothing new: what comes before the summary is not the end of it.
  const summaryId = summaryAtEnd(input.posted);
  const last = summaryId === undefined ? accepted.at(-1) : undefined;

  const plan = {
    append: [] as SessionMessage[],
    update: [] as SessionMessage[],
    edit: undefined as SessionMessage | undefined
  };
  const lastKnown = accepted.findLastIndex(({ message: { id } }) => isKnown(known, id) || aliases.has(id));
  accepted.forEach(({ index, message }, position) => {
    if (known.unchanged.has(message.id)) return;
    const reject = (reason: RejectReason) => rejected.push({ index, id: message.id, reason });
    const before = stored.get(message.id);
    if (before !== undefined && before.role !== message.role) reject("role-mismatch");
    else if (message.role === "assistant") {
      if (before === undefined && !aliases.has(message.id)) reject("unknown-assistant");
    } else if (before === undefined) {
      if (input.stored.isQueued(message.id)) return;
      // New messages are always at the end of a client's list.
      if (position < lastKnown) reject("deleted");
      else plan.append.push(sanitizeMessage(withoutServerFields(message)));
    } else {
      const next = changedVersion(message, before, input.stored);
      if (next === undefined) return;
      const isEdit =
        message === last?.message && input.trigger === "submit-message" && input.stored.hasChildren(message.id);
      if (isEdit) plan.edit = next;
      else plan.update.push(next);
    }
  });
  rejected.sort((first, second) => first.index - second.index);
  const answer =
    summaryId === undefined
      ? answerPlace(input, last, { known, aliases })
      : placeBelowSummary(input, input.stored.lastCovered(summaryId));
  return { ...plan, answer, aliases, rejected };
}

function summaryAtEnd(posted: readonly unknown[]): string | undefined {
  const checked = checkMessage(posted.at(-1));
  return checked.ok && isCompactionMessage(checked.value) ? checked.value.id : undefined;
}

/** To answer again what a summary ends with, the answer goes below the last message it stands for. */
function placeBelowSummary({ trigger }: ReconcileInput, lastCovered: string | undefined): AnswerPlace {
  if (trigger !== "regenerate-message") return { at: "leaf" };
  return lastCovered === undefined ? { at: "nowhere" } : { at: "message", messageId: lastCovered };
}

function accept(input: ReconcileInput, rejected: Rejected[]): Accepted[] {
  const accepted: Accepted[] = [];
  const seen = new Set<string>();
  input.posted.forEach((posted, index) => {
    // Most of a list is: it was checked when it was stored.
    const isUnchanged = isSaid(posted) && input.stored.isAsShown(posted);
    const result = isUnchanged ? ok(posted) : acceptPosted(posted);
    if (result.ok && !seen.has(result.value.id)) {
      seen.add(result.value.id);
      accepted.push({ index, message: result.value, isUnchanged });
      return;
    }
    const id: unknown = typeof posted === "object" && posted !== null && "id" in posted ? posted.id : undefined;
    rejected.push({
      index,
      id: typeof id === "string" ? id : undefined,
      reason: result.ok ? "repeated" : result.error
    });
  });
  return accepted;
}

/** By a user or an assistant, and not a summary. Its shape is unknown beyond that: it is compared before it is used. */
function isSaid(posted: unknown): posted is SessionMessage {
  if (!isObject(posted) || typeof posted["id"] !== "string" || isCompactionMessage({ id: posted["id"] })) return false;
  return posted["role"] === "user" || posted["role"] === "assistant";
}

/** What is stored of a posted list. */
interface Known {
  /** Ids of messages that are shown as they were posted. */
  readonly unchanged: ReadonlySet<string>;
  /** The other stored ones. */
  readonly stored: ReadonlyMap<string, StoredText>;
}

function lookUpAll(lookup: StoredLookup, accepted: readonly Accepted[]): Known {
  const unchanged = new Set<string>();
  const others: string[] = [];
  for (const { message, isUnchanged } of accepted) {
    if (isUnchanged) unchanged.add(message.id);
    else others.push(message.id);
  }
  return { unchanged, stored: lookup.texts(others) };
}

function isKnown({ unchanged, stored }: Known, id: string): boolean {
  return unchanged.has(id) || stored.has(id);
}

/** Answers the client holds under an id of its own: the same tool call, or the same words, each used once. */
function aliasesOf(input: ReconcileInput, accepted: readonly Accepted[], known: Known): Map<string, string> {
  const aliases = new Map<string, string>();
  const unknown = accepted.flatMap(({ message }) =>
    message.role === "assistant" && !isKnown(known, message.id) ? [message] : []
  );
  if (unknown.length === 0) return aliases;
  const calls = new Set(unknown.flatMap(callIdsOf));
  const owners = calls.size === 0 ? new Map<string, SessionMessage>() : input.stored.ownersOfCalls(calls);
  const answers = new AnswerTexts(input.stored, new Set([...known.unchanged, ...known.stored.keys()]));
  // Newest first, as the stored answers are given: two equal answers map to two rows in the same order.
  for (const message of unknown.toReversed()) {
    const held = callIdsOf(message);
    const owned = held.find((id) => owners.has(id));
    const owner = held.length > 0 ? owned && owners.get(owned)?.id : answers.claim(message);
    if (owner !== undefined) aliases.set(message.id, owner);
  }
  return aliases;
}

function callIdsOf(message: SessionMessage): string[] {
  return message.parts.filter(isToolPart).map(({ toolCallId }) => toolCallId);
}

/** Recent stored answers without tool calls by their words; each can be claimed once. Read when first needed. */
class AnswerTexts {
  readonly #stored: StoredLookup;
  readonly #claimed: ReadonlySet<string>;
  #ids: Map<string, string[]> | undefined;

  constructor(stored: StoredLookup, claimed: ReadonlySet<string>) {
    this.#stored = stored;
    this.#claimed = claimed;
  }

  claim(message: SessionMessage): string | undefined {
    this.#ids ??= this.#read();
    return this.#ids.get(canonicalJson(sanitizeMessage(message).parts))?.shift();
  }

  #read(): Map<string, string[]> {
    const ids = new Map<string, string[]>();
    for (const answer of this.#stored.recentAnswers()) {
      if (this.#claimed.has(answer.id) || answer.parts.some(isToolPart)) continue;
      const words = canonicalJson(sanitizeMessage(answer).parts);
      ids.set(words, [...(ids.get(words) ?? []), answer.id]);
    }
    return ids;
  }
}

/** What to store instead of a stored message, or undefined when the client has nothing new to say. */
function changedVersion(posted: SessionMessage, before: StoredText, lookup: StoredLookup): SessionMessage | undefined {
  // A client sends back what it was given: this is nearly always the end of it.
  if (JSON.stringify(posted) === before.text) return undefined;
  const stored = lookup.parse(before);
  const next = sanitizeMessage(withoutServerFields(posted));
  if (stored === undefined) return next;
  const shown = comparable(withoutServerFields(stored));
  if (comparable(next) === shown) return undefined;
  const limited = limitMessage(next);
  if (limited !== next && comparable(limited) === shown) return undefined;
  return withServerFields(next, stored);
}

function comparable(message: SessionMessage): string {
  return canonicalJson(JSON.parse(JSON.stringify(message)));
}

function answerPlace(
  { trigger, stored: lookup }: ReconcileInput,
  last: Accepted | undefined,
  { known, aliases }: { known: Known; aliases: ReadonlyMap<string, string> }
): AnswerPlace {
  if (last === undefined) return trigger === "regenerate-message" ? { at: "nowhere" } : { at: "leaf" };
  const { id, role } = last.message;
  const messageId = isKnown(known, id) ? id : aliases.get(id);
  if (trigger === "regenerate-message") {
    if (messageId !== undefined) return { at: "message", messageId };
    return role === "assistant" || lookup.isQueued(id) ? { at: "nowhere" } : { at: "leaf" };
  }
  // Sent again: the answer belongs below it, not below whatever came since.
  return messageId !== undefined && role === "user" ? { at: "message", messageId } : { at: "leaf" };
}
