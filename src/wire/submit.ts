// A chat request on its way to the engine: first the concurrency policy, then what the client showed is compared with
// what is stored, then the turn is accepted. All in one synchronous block: nothing else can happen between the decision
// and the acceptance. What became of it is a value: each encoding tells its client in its own words.
import type { UIMessage } from "ai";
import { trailingUserIds, type Admission } from "../turn/admit.ts";
import { assertNever } from "../util/assert-never.ts";
import { failureDetails, ThinkError } from "../util/errors.ts";
import type { ChatCommand, ChatTrigger } from "./commands.ts";
import { wireErrors } from "./errors.ts";
import type { ChatProtocolInit } from "./protocol.ts";
import type { TurnTraces } from "./turn-traces.ts";

export const DEFAULT_DEBOUNCE_MS = 750;

export type MessageConcurrency =
  | "queue"
  | "latest"
  | "merge"
  | "drop"
  | "steer"
  | {
      readonly strategy: "debounce";
      /** Default 750; a value that is no duration counts as the default. */
      readonly debounceMs?: number;
    };

export type OverlapDecision =
  | { readonly do: "run" }
  | { readonly do: "drop" }
  /** Read by the running turn's model at its next step boundary. */
  | { readonly do: "steer" }
  /** Runs unless a newer one of its kind is waiting when its turn comes. */
  | { readonly do: "run-if-newest"; readonly delayMs: number };

export interface Overlap {
  readonly trigger: ChatTrigger;
  readonly isBusy: boolean;
}

/** What happens to a submit that comes while another turn is running or waiting. Pure. */
export function decideOverlap(policy: MessageConcurrency, { trigger, isBusy }: Overlap): OverlapDecision {
  // A regeneration replaces an answer: no later message could stand in for it.
  if (!isBusy || trigger === "regenerate-message") return { do: "run" };
  switch (policy) {
    case "queue":
      return { do: "run" };
    case "drop":
      return { do: "drop" };
    case "steer":
      return { do: "steer" };
    case "latest":
    case "merge":
      return { do: "run-if-newest", delayMs: 0 };
    default:
      if (policy.strategy === "debounce") return { do: "run-if-newest", delayMs: debounceOf(policy.debounceMs) };
      return assertNever(policy.strategy);
  }
}

function debounceOf(given: number | undefined): number {
  return typeof given === "number" && Number.isFinite(given) && given >= 0 ? given : DEFAULT_DEBOUNCE_MS;
}

/** Request ids that are remembered to recognise a repetition. Ids are random, and a repetition follows closely. */
const REMEMBERED_REQUESTS = 256;

/** What a list of messages posted by a client means for the store. */
export interface RequestPlan {
  /** Messages the store does not have. They join it with the turn. */
  readonly input: readonly UIMessage[];
  /** `apply` will change stored messages. */
  readonly changesStored: boolean;
  /** The answer becomes a child of this message: a regeneration, or an edit of a message that has descendants. */
  readonly parentMessageId?: string;
  /**
   * How the posted list compares with the transcript it leads to: `equal` when it is the whole of it, same ids, same
   * order, same content; `part` when it only lacks messages; `different` when the client shows something else.
   */
  readonly clientShows: "equal" | "part" | "different";
}

/** The session's rules for posted messages, as a request needs them. */
export interface Reconciler<Plan extends RequestPlan = RequestPlan> {
  /** Pure: reads, writes nothing. The client is sent the message of what it throws. */
  plan(posted: readonly UIMessage[], trigger: ChatTrigger): Plan;
  apply(plan: Plan): void;
}

/** What became of a request. */
export type Submitted =
  | { readonly kind: "accepted"; readonly plan: RequestPlan }
  /** Nothing is stored of it. */
  | { readonly kind: "dropped"; readonly messageIds: readonly string[] }
  | { readonly kind: "failed"; readonly errorText: string; readonly messageIds?: readonly string[] }
  /** Its turn is open already. */
  | { readonly kind: "repeated" }
  /** Its sender missed the end, and must be sent it. */
  | { readonly kind: "ended-before" };

interface Failure {
  readonly requestId: string;
  readonly error: unknown;
  readonly stage: "parse" | "persist";
  readonly messageIds?: readonly string[];
}

export type ChatRequest = Extract<ChatCommand, { type: "request" }>;

export class Submit {
  readonly #init: ChatProtocolInit;
  readonly #traces: TurnTraces;
  /** The clients of the last requests. In memory: after a restart the engine still has the requests that became turns. */
  readonly #senders = new Map<string, WeakRef<object>>();

  constructor(init: ChatProtocolInit, traces: TurnTraces) {
    this.#init = init;
    this.#traces = traces;
  }

  /** Takes a request once, however often it is delivered. `origin`: the same object for the same client. */
  receive(request: ChatRequest, origin: object): Submitted {
    const repetition = this.#repetition(request.requestId, origin);
    if (repetition) return repetition;
    const { turns, clock } = this.#init;
    const overlap = decideOverlap(this.#init.concurrency(), { trigger: request.trigger, isBusy: turns.isBusy() });
    if (overlap.do === "drop") return { kind: "dropped", messageIds: trailingUserIds(request.messages) };
    try {
      const schedule = scheduleOf(overlap, clock.now());
      return { kind: "accepted", plan: this.#accept(request, origin, schedule) };
    } catch (thrown) {
      const { requestId, messages } = request;
      // No user code runs here: any other error comes from storage, and only the operator may read it.
      const error = thrown instanceof ThinkError ? thrown : wireErrors.RequestNotStoredError(thrown);
      return this.#fail({ requestId, messageIds: trailingUserIds(messages), error, stage: "persist" });
    }
  }

  /** Whether these messages hold anything that is not stored. */
  isNews(messages: readonly UIMessage[]): boolean {
    try {
      const plan = this.#init.reconciler.plan(messages, "submit-message");
      return plan.input.length > 0 || plan.changesStored;
    } catch {
      // What is wrong with them is said where they are submitted.
      return true;
    }
  }

  /** A request that cannot become a turn. */
  refuse(requestId: string, error: unknown, origin: object): Submitted {
    return this.#repetition(requestId, origin) ?? this.#fail({ requestId, error, stage: "parse" });
  }

  /** Only its sender has seen the request. */
  #fail({ requestId, error, messageIds, stage }: Failure): Submitted {
    const context = { requestId, stage, messagesPersisted: false };
    const errorText = this.#init.describeFailure(error, context);
    this.#init.emit("chat:request:failed", { ...context, error: errorText, ...failureDetails(error) });
    return { kind: "failed", errorText, messageIds };
  }

  #accept(request: ChatRequest, origin: object, wanted: Schedule): RequestPlan {
    const { turns, reconciler, emit } = this.#init;
    const { requestId, trigger, messages, clientTools, custom } = request;
    const generation = turns.generation;
    const plan = reconciler.plan(messages, trigger);
    // An edit of an earlier question is no word to the running turn, nor is a list without anything new.
    const isSteer = wanted.entry !== undefined && plan.input.length > 0 && plan.parentMessageId === undefined;
    const schedule = wanted.entry === undefined || (isSteer && turns.started()) ? wanted : {};
    const note = {
      messageIds: trailingUserIds(messages),
      branched: plan.parentMessageId !== undefined,
      inputIds: plan.input.map(({ id }) => id)
    };
    const accept = () => {
      turns.rememberClient({ tools: clientTools, body: custom ?? null });
      if (plan.changesStored) reconciler.apply(plan);
      turns.admit({
        requestId,
        trigger: "ws-chat",
        channel: schedule.entry ? turns.started()?.channel : "web",
        input: plan.input,
        inputMessageIds: note.messageIds,
        parentMessageId: plan.parentMessageId,
        body: custom,
        clientTools: turns.clientTools,
        generation,
        ...schedule,
        origin
      });
    };
    // The engine announces the turn when all of it is durable, which is before this returns.
    this.#traces.withNote(requestId, note, () => this.#atomically(accept));
    emit("message:request", {});
    return plan;
  }

  #repetition(
    requestId: string,
    origin: object
  ): Extract<Submitted, { kind: "repeated" | "ended-before" }> | undefined {
    if (this.#senders.get(requestId)?.deref() === origin || this.#traces.hasRequest(requestId)) {
      return { kind: "repeated" };
    }
    this.#remember(requestId, origin);
    const replay = this.#init.turns.replay(requestId);
    if (!replay) return undefined;
    return { kind: replay.state === "live" ? "repeated" : "ended-before" };
  }

  #remember(requestId: string, sender: object): void {
    this.#senders.delete(requestId);
    this.#senders.set(requestId, new WeakRef(sender));
    if (this.#senders.size <= REMEMBERED_REQUESTS) return;
    const oldest = this.#senders.keys().next();
    if (!oldest.done) this.#senders.delete(oldest.value);
  }

  #atomically(work: () => void): void {
    if (this.#init.atomically) this.#init.atomically(work);
    else work();
  }
}

type Schedule = Pick<Admission, "supersedable" | "notBeforeAt" | "entry">;

function scheduleOf(overlap: Exclude<OverlapDecision, { do: "drop" }>, now: number): Schedule {
  if (overlap.do === "run") return {};
  return overlap.do === "steer" ? { entry: "steer" } : newestOnly(overlap, now);
}

function newestOnly({ delayMs }: Extract<OverlapDecision, { do: "run-if-newest" }>, now: number) {
  return { supersedable: true, notBeforeAt: delayMs > 0 ? now + delayMs : undefined };
}
