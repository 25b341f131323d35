// A chat request on its way to the engine: the concurrency policy first, then what the client showed is brought in line
// with what is stored, then the turn is accepted. All in one synchronous block: between the decision and the acceptance
// nothing else can happen. Whatever goes wrong, the client gets the one end it waits for.
import type { Clock } from "../host/ports.ts";
import type { EventPayloads, EventType } from "../observe/events.ts";
import { trailingUserIds } from "../turn/admit.ts";
import type { TurnHooks } from "../turn/hooks.ts";
import type { Turns } from "../turn/turns.ts";
import { failureDetails, ThinkError } from "../util/errors.ts";
import type { Audience } from "./audience.ts";
import type { ClientView } from "./client-view.ts";
import type { ChatCommand } from "./commands.ts";
import { RequestNotStoredError } from "./errors.ts";
import { chatFrames } from "./frames.ts";
import { decideOverlap, type MessageConcurrency, type OverlapDecision } from "./overlap.ts";
import type { Reconciler } from "./reconciler.ts";
import { RecentRequests } from "./recent-requests.ts";
import type { TurnTraces } from "./turn-traces.ts";

/** A snapshot and a request that cross on the wire: the snapshot erased the message the client already showed. */
export const CROSSING_PERIOD_MS = 2_000;

export interface SubmitInit {
  readonly turns: Turns;
  readonly reconciler: Reconciler;
  readonly clock: Pick<Clock, "now">;
  readonly describeFailure: TurnHooks["describeFailure"];
  concurrency(): MessageConcurrency;
  emit<Type extends EventType>(type: Type, payload: EventPayloads[Type]): void;
  /** Makes the writes of an acceptance one. */
  atomically?<T>(work: () => T): T;
}

/** `repeated`: it is on its way already. `ended-before`: its sender missed the end, and is owed it. */
export type Received = "accepted" | "answered" | "repeated" | "ended-before";

interface Failure {
  readonly requestId: string;
  readonly error: unknown;
  readonly stage: "parse" | "persist";
  readonly messageIds?: readonly string[];
}

export type ChatRequest = Extract<ChatCommand, { type: "request" }>;

export class Submit {
  readonly #init: SubmitInit;
  readonly #audience: Audience;
  readonly #traces: TurnTraces;
  readonly #recent = new RecentRequests();

  constructor(init: SubmitInit, audience: Audience, traces: TurnTraces) {
    this.#init = init;
    this.#audience = audience;
    this.#traces = traces;
  }

  /** Takes a request once, however often it is delivered. */
  receive(view: ClientView, request: ChatRequest): Received {
    const repetition = this.#repetition(view, request.requestId);
    if (repetition) return repetition;
    const { turns, clock } = this.#init;
    const now = clock.now();
    const overlap = decideOverlap(this.#init.concurrency(), { trigger: request.trigger, isBusy: turns.isBusy() });
    if (overlap.do === "drop") {
      this.#drop(view, request);
      return "answered";
    }
    const mayBeErased = view.mayHaveCrossed({ posted: request.messages, now, periodMs: CROSSING_PERIOD_MS });
    try {
      this.#accept(view, request, overlap.do === "run" ? undefined : newestOnly(overlap, now));
    } catch (thrown) {
      const { requestId, messages } = request;
      // No code of the user's runs here: what is not an error of ours is storage, and nobody's to read but the operator's.
      const error = thrown instanceof ThinkError ? thrown : new RequestNotStoredError(thrown);
      this.#fail(view, { requestId, messageIds: trailingUserIds(messages), error, stage: "persist" });
      return "answered";
    }
    if (mayBeErased) this.#audience.sendSnapshot([view]);
    return "accepted";
  }

  /** A request that cannot become a turn. */
  refuse(view: ClientView, requestId: string, error: unknown): void {
    if (this.#repetition(view, requestId)) return;
    this.#fail(view, { requestId, error, stage: "parse" });
  }

  /** The one end of a request that never became a turn. Goes to its sender only: nobody else knows of it. */
  #fail(view: ClientView, failure: Failure): void {
    const { requestId, error, messageIds, stage } = failure;
    const context = { requestId, stage, messagesPersisted: false };
    const errorText = this.#init.describeFailure(error, context);
    this.#init.emit("chat:request:failed", { ...context, error: errorText, ...failureDetails(error) });
    const end = { requestId, continuation: false, outcome: "error" as const, errorText };
    this.#audience.send(view, chatFrames.terminal({ ...end, ...(messageIds && { messageIds }) }));
    // It shows a question that is not stored. Taking it back would lose what a person wrote; they may send it again.
    view.setInStep(false);
  }

  #accept(view: ClientView, request: ChatRequest, schedule: ReturnType<typeof newestOnly> | undefined): void {
    const { turns, reconciler, emit } = this.#init;
    const { requestId, trigger, messages, clientTools, custom } = request;
    const generation = turns.generation;
    const plan = reconciler.plan(messages, trigger);
    const note = {
      messageIds: trailingUserIds(messages),
      branched: plan.parentMessageId !== undefined,
      inputIds: plan.input.map(({ id }) => id)
    };
    const accept = () => {
      turns.rememberClient({ ...(clientTools && { tools: clientTools }), body: custom ?? null });
      if (plan.changesStored) reconciler.apply(plan);
      turns.admit({
        requestId,
        trigger: "ws-chat",
        input: plan.input,
        inputMessageIds: note.messageIds,
        ...(plan.parentMessageId !== undefined && { parentMessageId: plan.parentMessageId }),
        ...(custom && { body: custom }),
        clientTools: turns.clientTools,
        generation,
        ...schedule,
        origin: view.socket.key
      });
    };
    // The engine announces the turn when all of it is durable, which is before this returns.
    this.#traces.withNote(requestId, note, () => this.#atomically(accept));
    emit("message:request", {});
    if (plan.clientShows !== "part") view.setInStep(plan.clientShows === "equal");
    // Admission announces messages that join; it does not know of those that changed.
    if (plan.changesStored && plan.input.length === 0) {
      this.#audience.sendSnapshot(this.#audience.all().filter((other) => other !== view));
    }
  }

  /** Nothing is stored; the snapshot takes back what the client already shows. */
  #drop(view: ClientView, { requestId, messages }: ChatRequest): void {
    this.#audience.sendSnapshot([view]);
    const end = { requestId, continuation: false, outcome: "skipped" as const, messageIds: trailingUserIds(messages) };
    this.#audience.send(view, chatFrames.terminal(end));
  }

  #repetition(view: ClientView, requestId: string): "repeated" | "ended-before" | undefined {
    const { key } = view.socket;
    if (this.#recent.isFrom(requestId, key) || this.#traces.hasRequest(requestId)) return "repeated";
    this.#recent.add(requestId, key);
    const replay = this.#init.turns.replay(requestId);
    if (!replay) return undefined;
    return replay.state === "live" ? "repeated" : "ended-before";
  }

  #atomically(work: () => void): void {
    if (this.#init.atomically) this.#init.atomically(work);
    else work();
  }
}

function newestOnly({ delayMs }: Extract<OverlapDecision, { do: "run-if-newest" }>, now: number) {
  return { supersedable: true, ...(delayMs > 0 && { notBeforeAt: now + delayMs }) };
}
