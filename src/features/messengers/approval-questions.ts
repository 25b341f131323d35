// Questions about parked actions in a chat: each is asked once, answered by a user's press, and closed by the first decision,
// from whichever surface it came. Actions take the decision themselves.
import type { AgentPath } from "../../host/path.ts";
import type { ActionOutput, Decision, PendingApproval } from "../../feature/approval-contract.ts";
import { approverName } from "../approvals/approver.ts";
import type { ApprovalOutcome, AskedAbout } from "../channels/capability.ts";
import { isObject } from "../../util/json.ts";
import {
  APPROVE_ACTION,
  approvalCard,
  inputCard,
  inputFile,
  printDecided,
  printEscalated,
  questionKey,
  type PostedApproval,
  type ShownQuestion,
  type AskedApprovals
} from "./approvals.ts";
import { showInput, type ShownInput } from "./approval-input.ts";
import type { NormalizedMessenger } from "./definition.ts";
import type { Delivery } from "./delivery.ts";
import type { MessengerAction } from "./event.ts";
import { toHex } from "../../util/hex.ts";
import { SETTLED } from "../../work/kind.ts";
import type { AskJob, Inbox, MessengerReply, PressJob, ReplyEnd } from "./inbox.ts";

/** The agent that parked the action, in this object or another, as far as it is used. */
export interface DecidingTarget {
  waitingApprovals(about?: AskedAbout): Promise<PendingApproval[]>;
  /** Of calls that wait inside an answer. */
  decideCall(callId: string, decision: Decision): Promise<ActionOutput>;
  approveExecution(executionId: string, decision: { by: string; inputHash?: string }): Promise<ActionOutput>;
  rejectExecution(
    executionId: string,
    reason: undefined,
    decision: { by: string; inputHash?: string }
  ): Promise<ActionOutput>;
  approvalOutcomes(toolCallIds: readonly string[]): Promise<(ApprovalOutcome | undefined)[]>;
}

type Asking = MessengerReply & { readonly job: AskJob };
interface Showing {
  readonly delivery: Delivery;
  readonly messenger: NormalizedMessenger;
}

type Pressing = MessengerReply & { readonly job: PressJob };

const NOT_READABLE =
  "Nothing was done: its input was not shown here completely. Approve it where all of it can be read, or reject it.";

type Place = Pick<MessengerReply, "messengerId" | "threadId">;

export class ApprovalQuestions {
  readonly #inbox: Inbox;
  readonly #approvals: AskedApprovals;
  readonly #openTarget: (path: AgentPath) => Promise<DecidingTarget>;

  constructor(inbox: Inbox, approvals: AskedApprovals, openTarget: (path: AgentPath) => Promise<DecidingTarget>) {
    this.#inbox = inbox;
    this.#approvals = approvals;
    this.#openTarget = openTarget;
  }

  /** Asks questions, in the caller's transaction. */
  ask({ messengerId, threadId }: Place, target: AgentPath, approvals: readonly PendingApproval[]): void {
    if (approvals.length === 0) return;
    this.#approvals.sweep();
    for (const approval of approvals) {
      const token = makeToken();
      if (!this.#approvals.add({ token, messengerId, threadId, target, approval })) continue;
      this.#inbox.add({ messengerId, threadId, key: questionKey(approval), job: { do: "ask", token } });
    }
  }

  /** Shows the input, all of it, and then the buttons. */
  async show({ job: { token } }: Asking, delivery: Delivery, messenger: NormalizedMessenger): Promise<ReplyEnd> {
    const asked = this.#approvals.find(token);
    // Its time is over.
    if (!asked) return SETTLED;
    const input = showInput(asked.approval.descriptor.input, messenger.delivery);
    const shown = await this.#showInput(asked, input, { delivery, messenger });
    const { buttonsAt = 0 } = shown;
    await delivery.say({ card: approvalCard(asked, input, shown) }, buttonsAt);
    const { id: messageId } = delivery.posts[buttonsAt] ?? {};
    return { ...SETTLED, also: () => this.#approvals.noteShown(token, { ...shown, messageId }) };
  }

  /** Shows what of the input is not part of the question, and notes it before any button: a press finds what could be read. */
  async #showInput(asked: PostedApproval, input: ShownInput, { delivery, messenger }: Showing): Promise<ShownQuestion> {
    const { token, approval, shown } = asked;
    if (shown?.buttonsAt !== undefined) return shown;
    if ("text" in input) return { isWhole: true, buttonsAt: 0 };
    const note = (as: "file" | "messages", more: ShownQuestion): ShownQuestion => {
      const noted = { as, ...more };
      this.#approvals.noteShown(token, noted);
      return noted;
    };
    const { pieces, file } = input;
    if (file !== undefined && shown?.as !== "messages") {
      // An adapter that says nothing of files may leave them out, and approve what was not shown.
      const takesFiles = messenger.capabilities.supportsAttachments === true;
      if (takesFiles && (await delivery.sayAll([inputFile(approval, file)])))
        return note("file", { isWhole: true, buttonsAt: delivery.posts.length });
      // A restart must not take the first of the messages for the file.
      note("messages", {});
    }
    const isWhole =
      pieces.length > 0 &&
      (await delivery.sayAll(pieces.map((_, index) => ({ card: inputCard(approval, pieces, index) }))));
    return note("messages", { isWhole, buttonsAt: delivery.posts.length });
  }

  /** Says in the chat of a question that others may decide it from now on. Once, however often it is called. */
  escalated(question: PendingApproval): void {
    const of = questionKey(question);
    const asked = this.#approvals.findByQuestion(of);
    if (!asked?.isOpen) return;
    const { messengerId, threadId } = asked;
    const message = { markdown: printEscalated(question) };
    this.#inbox.add({ messengerId, threadId, key: `${of}:escalated`, job: { do: "say", message } });
  }

  /** Finds the message with the buttons. Undefined: it is not in the chat. */
  findMessage(question: string): string | undefined {
    return this.#approvals.findByQuestion(question)?.shown?.messageId ?? undefined;
  }

  /** Whether all of the input was in the chat before the buttons. It is not noted of one that is part of the question. */
  #isReadable({ approval, shown }: PostedApproval): boolean {
    return shown?.isWhole ?? "text" in showInput(approval.descriptor.input, {});
  }

  isOpenIn({ messengerId, threadId }: Place): boolean {
    return this.#approvals.hasOpen(messengerId, threadId);
  }

  /**
   * Closes the questions of the thread that another surface has decided, or that have expired, in line with presses: one that
   * is at work says who pressed. `known` leaves out those whose outcome is not stored yet: their action may be running.
   */
  async closeDecided({ messengerId, threadId }: Place, which: "all" | "known"): Promise<void> {
    const open = this.#approvals.listOpen(messengerId, threadId);
    // A thread's questions may be those of several agents.
    const byTarget = Map.groupBy(open, ({ target }) => JSON.stringify(target));
    for (const asked of byTarget.values()) await this.#closeDecidedOf(asked, which);
  }

  /** Of one agent. It is asked for lists: asked about each question, it would read all that wait again and again. */
  async #closeDecidedOf(open: readonly PostedApproval[], which: "all" | "known"): Promise<void> {
    const [first] = open;
    if (!first) return;
    const target = await this.#openTarget(first.target);
    const waitingOf = await listByRun(target, open);
    const decided = open.filter((asked) => !waits(asked, waitingOf(asked)));
    if (decided.length === 0) return;
    const outcomes = await target.approvalOutcomes(decided.map(({ approval }) => approval.descriptor.toolCallId));
    // What a run waits for next may have come while the outcomes were read.
    const nextOf = await listByRun(target, []);
    this.#inbox.transaction(() => {
      for (const [index, asked] of decided.entries()) {
        const outcome = outcomes[index];
        const next = nextOf(asked);
        // A decision over a call inside an answer is stored as it is taken; without one, the answer is gone.
        const mayRun = asked.approval.source !== "tool";
        if (!outcome && next.length === 0 && which === "known" && mayRun) continue;
        this.#close(asked, describeOutcome(outcome), next);
      }
    });
  }

  /** Takes a user's press of a button. */
  async press(reply: Pressing): Promise<ReplyEnd> {
    const { job } = reply;
    const { action, thread } = job.event;
    const asked = this.#approvals.find(action?.value ?? "");
    const isOfThread = asked?.messengerId === reply.messengerId && asked.threadId === thread.id;
    if (!action || !asked || !isOfThread) return this.#answer(reply, "This question is not known any more.");
    if (!asked.isOpen) return this.#answer(reply, "Already resolved.");
    if (isApproval(action) && !this.#isReadable(asked)) return this.#answer(reply, NOT_READABLE);
    const { executionId, descriptor } = asked.approval;
    const target = await this.#openTarget(asked.target);
    // A process that dies from here on may have decided: the press is then found begun, and repeated.
    const isRepeated = job.isBegun === true;
    if (!isRepeated) this.#inbox.change(reply, { job: { ...job, isBegun: true } });
    const by = `${reply.messengerId}:${action.user?.userId ?? "unknown"}`;
    const output = await decide(target, asked, { by, action });
    const waiting = await target.waitingApprovals({ executionId, callIds: insideAnswers([asked]) });
    if (waits(asked, waiting)) return this.#answer(reply, readRefusal(output));
    const isDone = !isRefusal(output, executionId);
    const [found] = isDone ? [] : await target.approvalOutcomes([descriptor.toolCallId]);
    // Without a stored outcome, what a press that was cut off decided is still at work.
    const isOurs = isDone || (found ? isDecisionOf(found, { by, action }) : isRepeated);
    const outcome = isOurs ? describePress(action, by) : describeOutcome(found);
    const close = () => this.#close(asked, outcome, waiting);
    return isOurs ? { ...SETTLED, also: close } : this.#answer(reply, "Already resolved.", close);
  }

  #answer({ key, messengerId, threadId }: Pressing, message: string, close?: () => void): ReplyEnd {
    const also = () => {
      close?.();
      this.#inbox.add({ messengerId, threadId, key: `${key}:answer`, job: { do: "say", message } });
    };
    return { ...SETTLED, also };
  }

  /** Closes a question, in the caller's transaction. `next` is what the same run waits for now. */
  #close(asked: PostedApproval, outcome: string, next: readonly PendingApproval[]): void {
    if (!this.#approvals.close(asked.token)) return;
    const { messengerId, threadId, approval } = asked;
    const of = questionKey(approval);
    const message = { markdown: printDecided(approval, outcome) };
    this.#inbox.add({ messengerId, threadId, key: `${of}:decided`, job: { do: "change", of, message } });
    this.ask(asked, asked.target, next);
  }
}

/** Lists what waits, by its run: everything that is parked, and of calls inside answers those of these questions. */
async function listByRun(
  target: DecidingTarget,
  of: readonly PostedApproval[]
): Promise<(asked: PostedApproval) => readonly PendingApproval[]> {
  const waiting = await target.waitingApprovals({ callIds: insideAnswers(of) });
  const byRun = Map.groupBy(waiting, ({ executionId }) => executionId);
  return ({ approval }) => byRun.get(approval.executionId) ?? [];
}

/** The ids of calls that wait inside an answer. */
function insideAnswers(asked: readonly PostedApproval[]): string[] {
  return asked.flatMap(({ approval: { source, executionId } }) => (source === "tool" ? [executionId] : []));
}

function decide(
  target: DecidingTarget,
  { approval: { executionId, inputHash, source } }: PostedApproval,
  { by, action }: { readonly by: string; readonly action: MessengerAction }
): Promise<ActionOutput> {
  if (source === "tool") {
    return target.decideCall(executionId, { isApproved: isApproval(action), by, inputHash: inputHash ?? "" });
  }
  const decision = { by, inputHash };
  return isApproval(action)
    ? target.approveExecution(executionId, decision)
    : target.rejectExecution(executionId, undefined, decision);
}

function isApproval({ actionId }: MessengerAction): boolean {
  return actionId === APPROVE_ACTION;
}

/** Whether the question waits still. Code may wait again for another call: that is another question. */
function waits({ approval }: PostedApproval, waiting: readonly PendingApproval[]): boolean {
  return waiting.some(({ inputHash }) => inputHash === approval.inputHash);
}

function isDecisionOf(
  { how, by: decidedBy }: ApprovalOutcome,
  { by, action }: { readonly by: string; readonly action: MessengerAction }
): boolean {
  return decidedBy === by && how === (isApproval(action) ? "approved" : "rejected");
}

function describePress(action: MessengerAction, by: string): string {
  const name = action.user?.fullName ?? action.user?.userName ?? by;
  return `${isApproval(action) ? "Approved" : "Rejected"} by ${name}.`;
}

function describeOutcome(outcome: ApprovalOutcome | undefined): string {
  if (!outcome) return "Decided elsewhere.";
  if (outcome.how === "expired") return "Expired.";
  const how = outcome.how === "approved" ? "Approved" : "Rejected";
  return outcome.by === null ? `${how} elsewhere.` : `${how} by ${approverName(outcome.by)}.`;
}

/** Whether an output is a refusal: actions return what they like, and a refusal names the run that it is about. */
function isRefusal(output: ActionOutput, executionId: string): boolean {
  return isObject(output) && output["status"] === "error" && output["executionId"] === executionId;
}

function readRefusal(output: ActionOutput): string {
  const votes = isObject(output) ? output["votes"] : undefined;
  // Of actions that several people must approve.
  if (isObject(votes) && Array.isArray(votes["by"]))
    return `Counted: approved by ${votes["by"].length} of ${String(votes["required"])} people.`;
  const error = isObject(output) ? output["error"] : undefined;
  return typeof error === "string" ? error : "Nothing was done: you may not decide this.";
}

/** Makes a token of 64 bits: too many to guess, few enough for the smallest button. */
function makeToken(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(8)));
}
