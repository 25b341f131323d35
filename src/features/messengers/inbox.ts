// Replies of messengers as durable work: one item for each question, notice and press. An event is stored before its webhook
// is answered, and its key is known for as long as providers repeat webhooks. What is stored of a reply says how far it got:
// which messages were begun, and which of them the provider has confirmed. Everything that follows a crash is decided from it.
import type { ChatServices } from "../../feature/services.ts";
import { outsideTurns } from "../../turn/nesting.ts";
import { isObject } from "../../util/json.ts";
import { err, ok } from "../../util/result.ts";
import type { RetryPolicy, RunEnd, WorkItem, WorkView } from "../../work/kind.ts";
import { Work } from "../../work/work.ts";
import { GivenUpError, RetryLaterError } from "./delivery-errors.ts";
import { messengerErrors } from "./errors.ts";
import type { FollowedTurn } from "../channels/channels.ts";
import type { MessengerEvent } from "./event.ts";
import type { ChatPostable } from "./chat-adapter.ts";
import { MESSENGER_EVENTS, MESSENGER_REPLIES, REPLY } from "./replaced-tables.ts";
import type { KeptFile } from "./uploads.ts";

/** Replies that may be open. */
const MAX_OPEN = 10_000;
/** Messages that become one question, and characters of a question from which on the next message is another one. */
const MAX_BURST = 50;
const MAX_BURST_CHARS = 500_000;
/** How long events and ended replies are known: providers repeat webhooks for a day at most. */
export const RETENTION_MS = 7 * 24 * 3_600_000;

/** A reply that cannot be delivered is given up after about a day. */
export const RETRY: RetryPolicy = {
  backoff: { baseMs: 1_000, maxMs: 300_000 },
  // Its turn goes on without it.
  afterDeaths: { baseMs: 1_000, maxMs: 30_000 },
  maxAttempts: 300,
  pauseMs: (error) => (error instanceof RetryLaterError ? error.waitMs : 0),
  isFinal: (error) => error instanceof GivenUpError
};

/** A message of a reply at the provider. */
export interface Post {
  /** The provider's id; null: the message was begun, and whether the provider has it is not known. */
  id: string | null;
  /** The fingerprint of the text that it was begun with. */
  sent?: string;
  /** The number of messages begun in its place before, whose fate is not known. */
  lost?: number;
  /** Whether it is the note after a message whose fate is not known. */
  apology?: boolean;
}

/** A job that is done after an answer. */
export type FollowUpJob =
  { readonly do: "say"; readonly message: ChatPostable } | { readonly do: "upload"; readonly file: KeptFile };

/** A job that ends with an answer. `attached` is what follows the answer, known from the end of its turn on. */
export type AnswerJob = (
  | { readonly do: "answer"; readonly events: readonly MessengerEvent[] }
  | { readonly do: "follow"; readonly turn: FollowedTurn }
) & { readonly attached?: readonly FollowUpJob[] };

/** A job that shows a question about a parked action. */
export interface AskJob {
  readonly do: "ask";
  readonly token: string;
}

/** A job that takes a user's press of a button. */
export interface PressJob {
  readonly do: "press";
  readonly event: MessengerEvent;
  /** Whether a run before this one may have decided. */
  readonly isBegun?: boolean;
}

/** A job that gives what was said to the turn that answers the thread, and asks it by itself if there is none. */
export interface SteerJob {
  readonly do: "steer";
  readonly events: readonly MessengerEvent[];
  /** Whether the turn has accepted it: then the job waits until it is known who answers. */
  readonly isAccepted?: boolean;
}

/** The work of a reply. */
export type ReplyJob =
  | AnswerJob
  | SteerJob
  | FollowUpJob
  | AskJob
  | PressJob
  /** Changes the message that shows this question. */
  | { readonly do: "change"; readonly of: string; readonly message: ChatPostable }
  /** Closes questions of the thread that were decided meanwhile. */
  | { readonly do: "close" };

interface StoredReply {
  readonly messengerId: string;
  readonly threadId: string;
  readonly job: ReplyJob;
  readonly posts: readonly Post[];
}

/** A reply that runs. */
export type MessengerReply = StoredReply & Omit<WorkItem<never>, "payload">;

export type NewReply = Omit<StoredReply, "posts"> & Pick<MessengerReply, "key">;

/** The end of a run. */
export type ReplyEnd = RunEnd<never>;

export interface ReceivedEvent {
  readonly key: string;
  readonly event: MessengerEvent;
  readonly dueAt: number;
  /** Whether it may join the answer that its thread waits for. */
  readonly steers: boolean;
}

export interface ReplyHandler {
  run(reply: MessengerReply): Promise<ReplyEnd>;
  /** Called in the transaction that gives the reply up. */
  givenUp(reply: MessengerReply): void;
}

export class Inbox {
  readonly work: Work<StoredReply>;
  readonly #sql: ChatServices["sql"];

  constructor(host: ChatServices, handler: ReplyHandler) {
    this.#sql = host.sql;
    this.work = new Work<StoredReply>(host, {
      name: REPLY,
      replaces: [MESSENGER_REPLIES, MESSENGER_EVENTS],
      codec: {
        encode: (reply) => reply,
        decode: (stored) => (isReply(stored) ? ok(stored) : err("it is no reply"))
      },
      retry: RETRY,
      hasLanes: true,
      // A chat does not wait for other chats.
      concurrency: MAX_OPEN,
      retentionMs: RETENTION_MS,
      // A reply may start a turn of its own.
      run: (item) => outsideTurns(() => handler.run(toReply(item))),
      givenUp: (item) => handler.givenUp(toReply(item))
    });
  }

  transaction<T>(work: () => T): T {
    return this.#sql.transaction(work);
  }

  /**
   * Stores an event: as a message of the question that waits in its thread, or as a new question. False if it was received
   * before. Part of the caller's transaction. Throws InboxFullError.
   */
  receive({ key, event, dueAt, steers }: ReceivedEvent): boolean {
    const { messengerId, thread } = event;
    if (this.work.state(key) !== undefined) return false;
    if (this.work.holdsAtLeast(MAX_OPEN)) throw messengerErrors.InboxFullError(MAX_OPEN);
    const place = { messengerId, threadId: thread.id };
    const does = steers && this.#isAnswering(place) ? "steer" : "answer";
    const open = this.#findOpenQuestion(laneOf(place, does));
    if (!open) return this.add({ ...place, key, job: { do: does, events: [event] } }, dueAt);
    this.work.know(key);
    const job = { ...open.job, events: [...open.job.events, event] };
    // A message that follows within the pause belongs to the same question.
    return this.work.put({ key: open.item.key, payload: { ...open.item.payload, job }, dueAt });
  }

  /** Whether an answer of the thread is under way, or messages for it are. */
  #isAnswering(place: Omit<NewReply, "key" | "job">): boolean {
    const claimed = this.work.items({ states: ["claimed"], lane: laneOf(place, "answer") });
    const steering = this.work.items({ states: ["waiting", "claimed"], lane: laneOf(place, "steer") });
    return [...claimed].length > 0 || [...steering].length > 0;
  }

  /** Finds the newest question of a thread, if its turn has not begun and it may have one more message. */
  #findOpenQuestion(lane: string) {
    let item: WorkView<StoredReply> | undefined;
    for (const waiting of this.work.items({ states: ["waiting"], lane })) item = waiting;
    const job = item?.payload.job;
    const isQuestion = job?.do === "answer" || (job?.do === "steer" && !job.isAccepted);
    if (!item || item.claim > 0 || !isQuestion || job.events.length >= MAX_BURST) return undefined;
    return JSON.stringify(job).length < MAX_BURST_CHARS ? { item, job } : undefined;
  }

  /** Adds a reply, in the caller's transaction. False: there is one under the same key. */
  add({ key, ...reply }: NewReply, dueAt?: number): boolean {
    const { job } = reply;
    // Those that are accepted wait each by itself: none holds up the next.
    const isAccepted = job.do === "steer" && job.isAccepted === true;
    const lane = isAccepted ? `${laneOf(reply, "steer")}\n${key}` : laneOf(reply, job.do);
    return this.work.add({ key, payload: { ...reply, posts: [] }, lane, dueAt });
  }

  /** Changes what is stored of a reply that runs. */
  change({ key, claim }: MessengerReply, change: Partial<Pick<StoredReply, "job" | "posts">>): void {
    const { payload } = this.work.find(key) ?? {};
    if (payload) this.work.save({ key, claim }, { ...payload, ...change });
  }
}

function toReply({ payload, ...item }: WorkItem<StoredReply>): MessengerReply {
  return { ...item, ...payload };
}

/** Questions of a thread wait for each other; what is said beside them, or to the one that runs, does not wait for it. */
function laneOf({ messengerId, threadId }: Omit<NewReply, "key" | "job">, job: ReplyJob["do"]): string {
  const lane = `${messengerId}\n${threadId}`;
  return job === "answer" ? lane : `${lane}\n${job === "steer" ? "steer" : "beside"}`;
}

function isReply(stored: unknown): stored is StoredReply {
  if (!isObject(stored) || !isObject(stored["job"]) || !Array.isArray(stored["posts"])) return false;
  return ["messengerId", "threadId"].every((name) => typeof stored[name] === "string");
}
