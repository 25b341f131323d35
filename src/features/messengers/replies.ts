// The runner of replies: takes what is due in the inbox, one at a time in each lane, and does it. A reply is a listener of
// its turn: asked again under the same key after a crash, the turn is found and not run a second time.
import { runtimeOf } from "../../agent/runtime.ts";
import type { AgentPath } from "../../host/path.ts";
import type { MessengerAnswer, MessengerQuestion } from "../channels/capability.ts";
import type { ChatServices } from "../../feature/services.ts";
import { messengerAccess } from "../channels/capability.ts";
import { outsideTurns } from "../../turn/nesting.ts";
import { backoffMs } from "../../util/backoff.ts";
import { errorMessage } from "../../util/errors.ts";
import { ApprovalQuestions, type DecidingTarget } from "./approval-questions.ts";
import type { AskedApprovals } from "./approvals.ts";
import { AttachedJobs, type AttachingTarget } from "./attached.ts";
import { readAttachments } from "./attachments.ts";
import type { ChatPostable } from "./chat-adapter.ts";
import type { MessengerTarget, NormalizedMessenger } from "./definition.ts";
import { Delivery } from "./delivery.ts";
import { GivenUpError, RetryLaterError } from "./delivery-errors.ts";
import { DEFAULT_TEXTS, splitterOf } from "./delivery-policy.ts";
import { defaultConversationName, toMessengerUserMessage, type MessengerEvent } from "./event.ts";
import type { AnswerJob, FollowUpJob, Inbox, MessengerReply, ReplyJob } from "./inbox.ts";
import type { Intake } from "./intake.ts";
import { ReplyText } from "./reply-text.ts";
import { typingWhile } from "./typing.ts";
import type { KeptFile, Uploads } from "./uploads.ts";

/** A reply that cannot be delivered is given up after this many tries: about a day. */
const MAX_ATTEMPTS = 300;
const RETRY = { baseMs: 1_000, maxMs: 300_000 };
const EDIT_INTERVAL_MS = 1_000;

/** A reply that ends with an answer. */
type Answering<Job extends AnswerJob = AnswerJob> = MessengerReply & { readonly job: Job };

/** What is used of the agent that answers, in this object or another. */
interface Target extends AttachingTarget, DecidingTarget {
  answerMessenger(question: MessengerQuestion, onText: (delta: string) => unknown): Promise<MessengerAnswer>;
  cancelChat(requestId: string, reason?: string): void | Promise<void>;
}

export interface RepliesInit {
  readonly host: ChatServices;
  readonly inbox: Inbox;
  readonly approvals: AskedApprovals;
  readonly uploads: Uploads;
  readonly intakeOf: (messengerId: string) => Intake | undefined;
}

export class Replies {
  readonly #init: RepliesInit;
  readonly #attached: AttachedJobs;
  readonly #questions: ApprovalQuestions;
  readonly #busy = new Set<string>();
  #isStopped = false;

  constructor(init: RepliesInit) {
    this.#init = init;
    this.#attached = new AttachedJobs(init.inbox, init.uploads);
    const { inbox, approvals } = init;
    this.#questions = new ApprovalQuestions({ inbox, approvals, targetOf: (path) => this.#target(path) });
  }

  stop(): void {
    this.#isStopped = true;
  }

  nextWake(): number | null {
    return this.#init.inbox.nextDue(this.#busy);
  }

  /** Starts what is due. Not part of the turn that calls: a reply may start a turn of its own. */
  drive(): void {
    if (this.#isStopped) return;
    outsideTurns(() => {
      this.#init.inbox.promote();
      for (const reply of this.#init.inbox.due()) if (!this.#busy.has(reply.lane)) this.#start(reply);
    });
    this.#init.host.rearm();
  }

  #start(reply: MessengerReply): void {
    const { host } = this.#init;
    this.#busy.add(reply.lane);
    const work = host
      .inAgent(() => this.#run(reply))
      .catch((error: unknown) => this.#postpone(reply, error))
      .finally(() => {
        this.#busy.delete(reply.lane);
        this.drive();
      });
    host.background(work);
  }

  #postpone(reply: MessengerReply, error: unknown): void {
    const { host, inbox, uploads } = this.#init;
    const { key, attempts, messengerId: messenger, threadId: thread } = reply;
    const asked = error instanceof RetryLaterError ? error.waitMs : 0;
    const retryInMs = Math.max(asked, backoffMs(attempts, RETRY));
    const isOver = error instanceof GivenUpError || attempts + 1 >= MAX_ATTEMPTS;
    if (isOver) {
      inbox.transaction(() => {
        this.#attached.drop(reply);
        inbox.complete(key);
        uploads.drop(key);
      });
    } else inbox.postpone(key, host.clock.now() + retryInMs);
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    console.error(
      `A reply of the messenger "${messenger}" was not delivered${isOver ? "." : "; it is tried again."}`,
      cause
    );
    host.emit("messenger:failed", { messenger, thread, error: errorMessage(cause), ...(!isOver && { retryInMs }) });
  }

  async #run(reply: MessengerReply): Promise<void> {
    const intake = this.#init.intakeOf(reply.messengerId);
    if (!intake) throw new GivenUpError(new Error(`The messenger "${reply.messengerId}" is not declared any more.`));
    const { job } = reply;
    switch (job.do) {
      case "answer":
        return this.#answer({ ...reply, job }, intake);
      case "say":
        return this.#say(reply, intake, job.message);
      case "ask":
        return this.#questions.show({ ...reply, job }, await this.#delivery(reply, intake), intake.messenger.delivery);
      case "upload":
        return this.#upload(reply, intake, job.file);
      case "change":
        return this.#change(reply, intake, job);
      case "press":
        return this.#questions.press(reply, job.event);
      case "close":
        await this.#questions.closeDecided(reply, "known");
        return this.#init.inbox.complete(reply.key);
      case "follow":
        return this.#follow({ ...reply, job }, intake);
    }
  }

  // ── Answers ──

  async #answer(reply: Answering<Extract<AnswerJob, { do: "answer" }>>, intake: Intake): Promise<void> {
    const { messenger } = intake;
    const { events } = reply.job;
    const last = events.at(-1);
    if (!last) return this.#init.inbox.complete(reply.key);
    const { texts } = policyOf(messenger);
    const delivery = await this.#delivery(reply, intake);
    const path = await this.#pathOf(messenger, last);
    const target = await this.#target(path);
    const answer = await this.#ask(reply, { intake, events, delivery, target });
    const isComplete = answer.status === "completed";
    const attached = isComplete ? await this.#attached.keep(reply, target, answer.requestId) : [];
    if (isComplete) {
      const text = answer.text.trim() === "" ? texts.empty : answer.text;
      await delivery.finish(text, texts.interrupted);
    } else
      await delivery.append({
        markdown: delivery.hasPosts || answer.status !== "error" ? texts.interrupted : texts.error
      });
    await this.#end(reply, { target, path, requestId: answer.requestId, attached });
    this.#delivered(reply, delivery, answer.status);
  }

  async #ask(
    reply: MessengerReply,
    given: { intake: Intake; events: readonly MessengerEvent[]; delivery: Delivery; target: Target }
  ): Promise<MessengerAnswer> {
    const { intake, events, delivery, target } = given;
    const { messenger } = intake;
    const adapter = await intake.adapter();
    const { botUserId } = adapter;
    const said = toMessengerUserMessage(events, {
      ...(messenger.channelSpeakerLabel && { speakerLabel: messenger.channelSpeakerLabel }),
      ...(botUserId !== undefined && { bot: { userId: botUserId, userName: messenger.userName } })
    });
    const { clock } = this.#init.host;
    const { files, texts } = await readAttachments(events, { adapter, clock, policy: messenger.attachments });
    const message = { ...said, parts: [...said.parts, ...texts.map((text) => ({ type: "text" as const, text }))] };
    const requestId = this.#init.host.ids.next();
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
    const stopTyping = typingWhile({
      clock: this.#init.host.clock,
      type: () => adapter.startTyping?.(reply.threadId),
      isNeeded: () => !delivery.hasPosts,
      repeatMs: messenger.delivery.typingIntervalMs
    });
    try {
      return await target.answerMessenger(
        { message, channel: messenger.id, key: reply.key, requestId, ...(files.length > 0 && { files }) },
        onText
      );
    } finally {
      stopTyping();
      await delivery.stop();
    }
  }

  /** One transaction: the reply is over, and what follows from it is to be said. */
  async #end(
    reply: Answering,
    ended: { target: Target; path: AgentPath; requestId: string; attached: readonly FollowUpJob[] }
  ): Promise<void> {
    const { inbox } = this.#init;
    const { target, path, requestId, attached } = ended;
    const approvals = (await target.waitingApprovals()).filter(({ descriptor }) => descriptor.requestId === requestId);
    inbox.transaction(() => {
      inbox.complete(reply.key);
      this.#attached.release(reply, attached);
      if (reply.job.do === "answer" && this.#questions.isOpenIn(reply))
        inbox.add({ ...placeOf(reply), key: `${reply.key}:close`, job: { do: "close" } });
      for (const approval of approvals) this.#questions.ask(reply, path, approval);
    });
  }

  async #say(reply: MessengerReply, intake: Intake, message: ChatPostable): Promise<void> {
    const delivery = await this.#delivery(reply, intake);
    const isCard = typeof message === "object" && "card" in message;
    const fallback = isCard ? message.fallbackText : undefined;
    const showsCards = intake.messenger.capabilities.supportsActions !== false;
    if (isCard && (showsCards || fallback === undefined)) await delivery.say(message);
    else await delivery.sayText(fallback ?? plainText(message));
    this.#init.inbox.complete(reply.key);
  }

  async #upload(reply: MessengerReply, intake: Intake, file: KeptFile): Promise<void> {
    const { inbox, uploads } = this.#init;
    const delivery = await this.#delivery(reply, intake);
    const takesFiles = intake.messenger.capabilities.supportsAttachments !== false;
    const outcome = takesFiles ? await delivery.postOnce(uploads.message(file)) : "refused";
    if (outcome === "refused" && delivery.failure !== undefined) {
      console.error(`The messenger "${reply.messengerId}" did not take the file "${file.name}".`, delivery.failure);
    }
    inbox.transaction(() => {
      inbox.complete(reply.key);
      uploads.drop(reply.key);
      if (outcome === "posted") return;
      const message = `The file ${file.name} ${outcome === "refused" ? "could not be sent here" : "may not have arrived"}.`;
      inbox.add({ ...placeOf(reply), key: `${reply.key}:missing`, job: { do: "say", message } });
    });
  }

  // ── Turns after a decision ──

  async #follow(reply: Answering<Extract<AnswerJob, { do: "follow" }>>, intake: Intake): Promise<void> {
    const { texts } = policyOf(intake.messenger);
    const { requestId, text, failed, target: path } = reply.job.turn;
    const delivery = await this.#delivery(reply, intake);
    const target = await this.#target([...path]);
    const attached = failed ? [] : await this.#attached.keep(reply, target, requestId);
    if (text.trim() !== "") await delivery.sayText(text);
    else if (failed) await delivery.append({ markdown: texts.error });
    await this.#questions.closeDecided(reply, "all");
    await this.#end(reply, { target, path: [...path], requestId, attached });
    this.#delivered(reply, delivery, failed ? "error" : "completed");
  }

  // ── Changes of what was said ──

  async #change(reply: MessengerReply, intake: Intake, job: Extract<ReplyJob, { do: "change" }>): Promise<void> {
    const { inbox } = this.#init;
    const id = this.#questions.messageOf(job.of);
    if (id !== undefined && typeof job.message === "object" && "markdown" in job.message) {
      const delivery = await this.#delivery({ ...reply, posts: [{ id }] }, intake);
      await delivery.sayText(job.message.markdown);
    }
    inbox.complete(reply.key);
  }

  // ── Parts ──

  async #delivery(reply: MessengerReply, intake: Intake): Promise<Delivery> {
    const { messenger } = intake;
    const { host, inbox } = this.#init;
    const { delivery: policy, capabilities } = messenger;
    const adapter = await intake.adapter();
    const { threadId } = reply;
    const isDirectMessage = adapter.isDM?.(threadId) ?? false;
    return new Delivery({
      adapter,
      threadId,
      pacer: intake.pacer(adapter, threadId),
      posts: reply.posts,
      clock: host.clock,
      canEdit: capabilities.canEditMessages !== false,
      canStream: capabilities.canEditMessages !== false && capabilities.canStream !== false,
      editIntervalMs: policy.editIntervalMs?.({ isDirectMessage }) ?? EDIT_INTERVAL_MS,
      split: splitterOf(policy),
      isExpected: (error) => policy.isExpectedDeliveryCompletion?.(error) ?? false,
      save: (stage, posts) => inbox.save(reply.key, stage, posts)
    });
  }

  async #pathOf({ conversation }: NormalizedMessenger, event: MessengerEvent): Promise<AgentPath> {
    const { agent } = this.#init.host;
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

  async #target(path: AgentPath): Promise<Target> {
    const [step] = path;
    const { agent } = this.#init.host;
    // Both are agents of classes that extend Think.
    return (step ? await runtimeOf(agent).tree.spawn(step) : agent) as object as Target;
  }

  #delivered(reply: MessengerReply, { posts, edits }: Delivery, status: string): void {
    const { host } = this.#init;
    host.emit("channel:delivered", { channel: reply.messengerId, kind: "final", turnEnded: true, status });
    host.emit("messenger:delivered", {
      messenger: reply.messengerId,
      thread: reply.threadId,
      posts: posts.length,
      edits,
      durationMs: host.clock.now() - reply.createdAt
    });
  }
}

function policyOf({ delivery }: NormalizedMessenger): { texts: { empty: string; error: string; interrupted: string } } {
  return {
    texts: {
      empty: delivery.emptyResponseText ?? DEFAULT_TEXTS.empty,
      error: delivery.errorResponseText ?? DEFAULT_TEXTS.error,
      interrupted: delivery.interruptedResponseText ?? DEFAULT_TEXTS.interrupted
    }
  };
}

function plainText(message: ChatPostable): string {
  if (typeof message === "string") return message;
  return "markdown" in message ? message.markdown : (message.fallbackText ?? "");
}

function placeOf({ messengerId, threadId }: MessengerReply): Pick<MessengerReply, "messengerId" | "threadId"> {
  return { messengerId, threadId };
}
