// What a reply does when it runs: it answers, asks, says, changes. A reply is a listener of its turn: asked again under the
// same key after a crash, the turn is found and not run a second time.
import { runtimeOf } from "../../agent/runtime.ts";
import type { AgentPath } from "../../host/path.ts";
import type { MessengerAnswer, MessengerQuestion, SteeredMessenger, SteeringQuestion } from "../channels/capability.ts";
import type { PendingApproval } from "../../feature/approval-contract.ts";
import type { ChatServices } from "../../feature/services.ts";
import { messengerAccess } from "../channels/capability.ts";
import type { Clock } from "../../host/ports.ts";
import { SETTLED } from "../../work/kind.ts";
import { afterFailure } from "../../work/decide.ts";
import { errorMessage } from "../../util/errors.ts";
import { ApprovalQuestions, type DecidingTarget } from "./approval-questions.ts";
import { AskedApprovals } from "./approvals.ts";
import { AttachedJobs, type AttachingTarget } from "./attached.ts";
import { readAttachments } from "./attachments.ts";
import type { ChatPostable } from "./chat-adapter.ts";
import type { MessengerTarget, NormalizedMessenger } from "./definition.ts";
import { Delivery } from "./delivery.ts";
import { GivenUpError } from "./delivery-errors.ts";
import { textsOf } from "./delivery-policy.ts";
import { defaultConversationName, toMessengerUserMessage, type MessengerEvent } from "./event.ts";
import { RETRY, type AnswerJob, type FollowUpJob, type MessengerReply, type ReplyEnd, type SteerJob } from "./inbox.ts";
import type { Inbox, NewReply, ReplyHandler, ReplyJob } from "./inbox.ts";
import type { Intake } from "./intake.ts";
import { ReplyText } from "./reply-text.ts";
import { Uploads, type KeptFile } from "./uploads.ts";

/** The time between two typing indicators: providers show one for five seconds at least. */
const TYPING_MS = 4_000;
const MAX_TYPING = 30;

/** A reply that ends with an answer. */
type Answering<Job extends AnswerJob = AnswerJob> = MessengerReply & { readonly job: Job };

/** How an answer ended. */
interface Answered {
  readonly target: Target;
  readonly path: AgentPath;
  readonly requestId: string;
  readonly attached: readonly FollowUpJob[];
  readonly afterwards: () => void;
}

/** The agent that answers, in this object or another, as far as it is used. */
interface Target extends AttachingTarget, DecidingTarget {
  answerMessenger(question: MessengerQuestion, onText: (delta: string) => unknown): Promise<MessengerAnswer>;
  steerMessenger(question: SteeringQuestion): Promise<SteeredMessenger>;
  cancelChat(requestId: string, reason?: string): void | Promise<void>;
}

export class Replies implements ReplyHandler {
  readonly #host: ChatServices;
  readonly #inbox: Inbox;
  readonly #intakeOf: (messengerId: string) => Intake | undefined;
  readonly #uploads: Uploads;
  readonly #attached: AttachedJobs;
  readonly #questions: ApprovalQuestions;

  constructor(host: ChatServices, inbox: Inbox, intakeOf: (messengerId: string) => Intake | undefined) {
    this.#host = host;
    this.#inbox = inbox;
    this.#intakeOf = intakeOf;
    this.#uploads = new Uploads(host.blobs);
    this.#attached = new AttachedJobs(inbox, this.#uploads);
    this.#questions = new ApprovalQuestions(inbox, new AskedApprovals(host), (path) => this.#openTarget(path));
  }

  async run(reply: MessengerReply): Promise<ReplyEnd> {
    try {
      return await this.#run(reply);
    } catch (error) {
      this.#reportFailed(reply, error);
      throw error;
    }
  }

  escalated(question: PendingApproval): void {
    this.#questions.escalated(question);
  }

  givenUp(reply: MessengerReply): void {
    this.#attached.drop(reply);
    this.#uploads.drop(reply.key);
  }

  #reportFailed(reply: MessengerReply, error: unknown): void {
    const { messengerId: messenger, threadId: thread } = reply;
    const now = this.#host.clock.now();
    const retry = afterFailure({ ...reply, troubledSince: null }, error, { policy: RETRY, now });
    const isOver = retry === "given-up";
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    console.error(
      `A reply of the messenger "${messenger}" was not delivered${isOver ? "." : "; it is tried again."}`,
      cause
    );
    const failure = { messenger, thread, error: errorMessage(cause), retryInMs: isOver ? undefined : retry.at - now };
    this.#host.emit("messenger:failed", failure);
  }

  async #run(reply: MessengerReply): Promise<ReplyEnd> {
    const intake = this.#intakeOf(reply.messengerId);
    if (!intake) throw new GivenUpError(new Error(`The messenger "${reply.messengerId}" is not declared any more.`));
    const { job } = reply;
    switch (job.do) {
      case "answer":
        return this.#answer({ ...reply, job }, intake);
      case "steer":
        return this.#steer({ ...reply, job }, intake);
      case "say":
        return this.#say(reply, intake, job.message);
      case "ask":
        return this.#questions.show({ ...reply, job }, await this.#open(reply, intake), intake.messenger);
      case "upload":
        return this.#upload(reply, intake, job.file);
      case "change":
        return this.#change(reply, intake, job);
      case "press":
        return this.#questions.press({ ...reply, job });
      case "close":
        await this.#questions.closeDecided(reply, "known");
        return SETTLED;
      case "follow":
        return this.#follow({ ...reply, job }, intake);
    }
  }

  // ── Messages for an answer that is under way ──

  /** Gives them to the turn that answers the thread, which reads them at its next step: its reply is theirs. */
  async #steer(reply: MessengerReply & { readonly job: SteerJob }, intake: Intake): Promise<ReplyEnd> {
    const { events, isAccepted = false } = reply.job;
    const last = events.at(-1);
    if (!last) return SETTLED;
    const target = await this.#openTarget(await this.#choosePath(intake.messenger, last));
    const { message, files } = await this.#readQuestion(events, intake);
    const key = isAccepted ? reply.key.slice(0, -WAITING_SUFFIX.length) : reply.key;
    const question = { message, files, channel: intake.messenger.id, key: askedKey(key) };
    const state = await target.steerMessenger({ ...question, waits: isAccepted });
    if (state === "answered") return SETTLED;
    const also = () => {
      const job: ReplyJob = state === "ask" ? { do: "answer", events } : { ...reply.job, isAccepted: true };
      this.#inbox.add({ ...placeOf(reply), key: state === "ask" ? askedKey(key) : `${key}${WAITING_SUFFIX}`, job });
    };
    return { ...SETTLED, also };
  }

  // ── Answers ──

  async #answer(reply: Answering<Extract<AnswerJob, { do: "answer" }>>, intake: Intake): Promise<ReplyEnd> {
    const { messenger } = intake;
    const { events } = reply.job;
    const last = events.at(-1);
    if (!last) return SETTLED;
    const texts = textsOf(messenger.delivery);
    const delivery = await this.#open(reply, intake);
    const path = await this.#choosePath(messenger, last);
    const target = await this.#openTarget(path);
    const answer = await this.#ask(reply, { intake, events, delivery, target });
    const isComplete = answer.status === "completed";
    const attached = isComplete ? await this.#attached.keep(reply, target, answer.requestId) : [];
    if (isComplete) {
      const text = answer.text.trim() === "" ? await this.#textWithout(target, answer, texts.empty) : answer.text;
      await delivery.finish(text, texts.interrupted);
    } else
      await delivery.append({
        markdown: delivery.hasPosts || answer.status !== "error" ? texts.interrupted : texts.error
      });
    const afterwards = () => this.#reportDelivered(reply, delivery, answer.status);
    return this.#end(reply, { target, path, requestId: answer.requestId, attached, afterwards });
  }

  async #ask(
    reply: MessengerReply,
    given: { intake: Intake; events: readonly MessengerEvent[]; delivery: Delivery; target: Target }
  ): Promise<MessengerAnswer> {
    const { intake, events, delivery, target } = given;
    const { messenger } = intake;
    const adapter = await intake.adapter();
    const { clock, ids } = this.#host;
    const { message, files } = await this.#readQuestion(events, intake);
    const requestId = ids.next();
    const text = new ReplyText();
    let isRefused = false;
    const onText = (chunk: string): void => {
      if (!text.read(chunk) || isRefused) return;
      delivery.update(text.value);
      if (!(delivery.failure instanceof GivenUpError)) return;
      // The chat does not take the answer: the model need not go on with it.
      isRefused = true;
      void Promise.resolve(target.cancelChat(requestId, "The chat does not take the answer.")).catch(() => undefined);
    };
    const typing = new AbortController();
    const { typingIntervalMs = TYPING_MS } = messenger.delivery;
    // A provider that refuses it costs nothing.
    repeatTyping(
      () => adapter.startTyping?.(reply.threadId),
      () => delivery.hasPosts,
      {
        clock,
        everyMs: typingIntervalMs,
        signal: typing.signal
      }
    ).catch(() => undefined);
    try {
      const question = { message, channel: messenger.id, key: reply.key, requestId, files };
      return await target.answerMessenger(question, onText);
    } finally {
      typing.abort();
      await delivery.stop();
    }
  }

  /** Makes the message of what was said, with its files. */
  async #readQuestion(
    events: readonly MessengerEvent[],
    intake: Intake
  ): Promise<Pick<MessengerQuestion, "message" | "files">> {
    const { messenger } = intake;
    const adapter = await intake.adapter();
    const { botUserId } = adapter;
    const said = toMessengerUserMessage(events, {
      speakerLabel: messenger.channelSpeakerLabel,
      bot: botUserId === undefined ? undefined : { userId: botUserId, userName: messenger.userName }
    });
    const { clock } = this.#host;
    const { files, texts } = await readAttachments(events, messenger.attachments, { adapter, clock });
    return {
      message: { ...said, parts: [...said.parts, ...texts.map((text) => ({ type: "text" as const, text }))] },
      files
    };
  }

  /** Chooses what stands for an answer without a text. A question that follows says enough. */
  async #textWithout(target: Target, { requestId }: MessengerAnswer, empty: string): Promise<string> {
    return (await target.waitingApprovals({ requestId })).length > 0 ? "" : empty;
  }

  /** Ends a reply, and adds what follows from it, in one transaction. */
  async #end(reply: Answering, ended: Answered): Promise<ReplyEnd> {
    const { target, path, requestId, attached, afterwards } = ended;
    const approvals = await target.waitingApprovals({ requestId });
    const also = () => {
      this.#attached.release(reply, attached);
      if (reply.job.do === "answer" && this.#questions.isOpenIn(reply))
        this.#inbox.add({ ...placeOf(reply), key: `${reply.key}:close`, job: { do: "close" } });
      this.#questions.ask(reply, path, approvals);
    };
    return { ...SETTLED, also, afterwards };
  }

  async #say(reply: MessengerReply, intake: Intake, message: ChatPostable): Promise<ReplyEnd> {
    const delivery = await this.#open(reply, intake);
    const isCard = typeof message === "object" && "card" in message;
    const fallback = isCard ? message.fallbackText : undefined;
    const showsCards = intake.messenger.capabilities.supportsActions !== false;
    if (isCard && (showsCards || fallback === undefined)) await delivery.say(message);
    else await delivery.sayText(fallback ?? toPlainText(message));
    return SETTLED;
  }

  async #upload(reply: MessengerReply, intake: Intake, file: KeptFile): Promise<ReplyEnd> {
    const delivery = await this.#open(reply, intake);
    const takesFiles = intake.messenger.capabilities.supportsAttachments !== false;
    const outcome = takesFiles ? await delivery.postOnce(this.#uploads.readMessage(file)) : "refused";
    if (outcome === "refused" && delivery.failure !== undefined) {
      console.error(`The messenger "${reply.messengerId}" did not take the file "${file.name}".`, delivery.failure);
    }
    const also = () => {
      this.#uploads.drop(reply.key);
      if (outcome === "posted") return;
      const message = `The file ${file.name} ${outcome === "refused" ? "could not be sent here" : "may not have arrived"}.`;
      this.#inbox.add({ ...placeOf(reply), key: `${reply.key}:missing`, job: { do: "say", message } });
    };
    return { ...SETTLED, also };
  }

  // ── Turns after a decision ──

  async #follow(reply: Answering<Extract<AnswerJob, { do: "follow" }>>, intake: Intake): Promise<ReplyEnd> {
    const { requestId, text, failed, target: path } = reply.job.turn;
    const delivery = await this.#open(reply, intake);
    const target = await this.#openTarget([...path]);
    const attached = failed ? [] : await this.#attached.keep(reply, target, requestId);
    if (text.trim() !== "") await delivery.sayText(text);
    else if (failed) await delivery.append({ markdown: textsOf(intake.messenger.delivery).error });
    await this.#questions.closeDecided(reply, "all");
    const afterwards = () => this.#reportDelivered(reply, delivery, failed ? "error" : "completed");
    return this.#end(reply, { target, path: [...path], requestId, attached, afterwards });
  }

  // ── Changes of what was said ──

  async #change(reply: MessengerReply, intake: Intake, job: Extract<ReplyJob, { do: "change" }>): Promise<ReplyEnd> {
    const id = this.#questions.findMessage(job.of);
    if (id !== undefined && typeof job.message === "object" && "markdown" in job.message) {
      const delivery = await this.#open({ ...reply, posts: [{ id }] }, intake);
      await delivery.sayText(job.message.markdown);
    }
    return SETTLED;
  }

  // ── Parts ──

  async #open(reply: MessengerReply, intake: Intake): Promise<Delivery> {
    const adapter = await intake.adapter();
    const pacer = intake.pacerOf(adapter, reply.threadId);
    const { clock } = this.#host;
    return new Delivery(reply, { adapter, messenger: intake.messenger, pacer, clock, inbox: this.#inbox });
  }

  /** Chooses the agent that answers, and makes its conversation the messenger's. */
  async #choosePath({ conversation }: NormalizedMessenger, event: MessengerEvent): Promise<AgentPath> {
    const { agent } = this.#host;
    const { className } = runtimeOf(agent).identity;
    if (conversation === "thread") return [{ className, name: defaultConversationName(event) }];
    const target: MessengerTarget = conversation === "self" ? { target: "self" } : await conversation(event);
    if (target.target === "self") {
      messengerAccess.of(agent).claim("self");
      return [];
    }
    const step = { className: target.agentClass?.name ?? className, name: target.name };
    // Before anything of the chat is stored in it.
    messengerAccess.of(agent).claim(step);
    return [step];
  }

  async #openTarget(path: AgentPath): Promise<Target> {
    const [step] = path;
    const { agent } = this.#host;
    // Both are agents of classes that extend Think.
    return (step ? await runtimeOf(agent).tree.spawn(step) : agent) as object as Target;
  }

  #reportDelivered(reply: MessengerReply, { posts, edits }: Delivery, status: string): void {
    const { messengerId: messenger, threadId: thread, createdAt } = reply;
    this.#host.emit("channel:delivered", { channel: messenger, kind: "final", turnEnded: true, status });
    const durationMs = this.#host.clock.now() - createdAt;
    this.#host.emit("messenger:delivered", { messenger, thread, posts: posts.length, edits, durationMs });
  }
}

/** Shows that the bot is typing while there is no text yet. */
async function repeatTyping(
  type: () => Promise<void> | undefined,
  isOver: () => boolean,
  { clock, everyMs, signal }: { readonly clock: Clock; readonly everyMs: number; readonly signal: AbortSignal }
): Promise<void> {
  for (let count = 0; count < MAX_TYPING && !isOver() && !signal.aborted; count += 1) {
    await type();
    await clock.sleep(everyMs, signal);
  }
}

function toPlainText(message: ChatPostable): string {
  if (typeof message === "string") return message;
  return "markdown" in message ? message.markdown : (message.fallbackText ?? "");
}

/** Of the item that waits until it is known who answers a message. */
const WAITING_SUFFIX = ":waits";

/** The key under which a message that was to steer is asked by itself. */
function askedKey(key: string): string {
  return `${key}:asked`;
}

function placeOf({ messengerId, threadId }: MessengerReply): Omit<NewReply, "key" | "job"> {
  return { messengerId, threadId };
}
