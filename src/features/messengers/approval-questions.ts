// Questions about parked actions in a chat: each is asked once, answered by a user's press, and closed by the first decision,
// from whichever surface it came. The decision itself is the actions' own.
import type { AgentPath } from "../../host/path.ts";
import type { ActionOutput, PendingApproval } from "../../feature/approval-contract.ts";
import { approverName } from "../approvals/approver.ts";
import type { ApprovalOutcome } from "../channels/capability.ts";
import { isObject } from "../../util/json.ts";
import {
  APPROVE_ACTION,
  approvalCard,
  decidedText,
  inputCard,
  questionKey,
  type AskedApproval,
  type AskedApprovals
} from "./approvals.ts";
import { readableInput } from "./approval-input.ts";
import type { MessengerDeliveryPolicy } from "./definition.ts";
import type { Delivery } from "./delivery.ts";
import type { MessengerAction, MessengerEvent } from "./event.ts";
import { toHex } from "../../util/hex.ts";
import type { AskJob, Inbox, MessengerReply } from "./inbox.ts";

/** What is used of the agent that parked the action, in this object or another. */
export interface DecidingTarget {
  waitingApprovals(executionId?: string): Promise<PendingApproval[]>;
  approveExecution(executionId: string, decision: { by: string; inputHash?: string }): Promise<ActionOutput>;
  rejectExecution(
    executionId: string,
    reason: undefined,
    decision: { by: string; inputHash?: string }
  ): Promise<ActionOutput>;
  approvalOutcome(toolCallId: string): Promise<ApprovalOutcome | undefined>;
}

export interface QuestionsInit {
  readonly inbox: Inbox;
  readonly approvals: AskedApprovals;
  readonly targetOf: (path: AgentPath) => Promise<DecidingTarget>;
}

type Asking = MessengerReply & { readonly job: AskJob };

const NOT_READABLE =
  "Nothing was done: its input was not shown here completely. Approve it where all of it can be read, or reject it.";

type Place = Pick<MessengerReply, "messengerId" | "threadId">;

export class ApprovalQuestions {
  readonly #init: QuestionsInit;

  constructor(init: QuestionsInit) {
    this.#init = init;
  }

  /** Part of the caller's transaction. */
  ask({ messengerId, threadId }: Place, target: AgentPath, approval: PendingApproval): void {
    const { approvals, inbox } = this.#init;
    const token = randomToken();
    if (!approvals.add({ token, messengerId, threadId, target, approval })) return;
    inbox.add({ messengerId, threadId, key: questionKey(approval), job: { do: "ask", token } });
  }

  /** The input, all of it, and then the buttons. */
  async show(reply: Asking, delivery: Delivery, policy: MessengerDeliveryPolicy): Promise<void> {
    const { approvals, inbox } = this.#init;
    const { approval } = approvals.find(reply.job.token) ?? {};
    // Its time is over.
    if (!approval) return inbox.complete(reply.key);
    const input = readableInput(approval.descriptor.input, policy);
    const pieces = "pieces" in input ? input.pieces : [];
    let { shown } = reply.job;
    if (!shown) {
      const messages = pieces.map((_, index) => ({ card: inputCard(approval, pieces, index) }));
      const isWhole = !("chars" in input) && (await delivery.sayAll(messages));
      shown = { isWhole, buttonsAt: delivery.posts.length };
      // Before any button: a press finds what the human could read.
      inbox.changeJob(reply.key, { ...reply.job, shown });
    }
    const note = shown.isWhole || "chars" in input ? input : "not shown completely";
    await delivery.say({ card: approvalCard(approval, reply.job.token, note) }, shown.buttonsAt);
    inbox.complete(reply.key);
  }

  /** The message with the buttons. Undefined: it is not in the chat. */
  messageOf(key: string): string | undefined {
    const { job, posts = [] } = this.#init.inbox.find(key) ?? {};
    if (job?.do !== "ask") return posts[0]?.id ?? undefined;
    return job.shown ? (posts[job.shown.buttonsAt]?.id ?? undefined) : undefined;
  }

  /** All of its input was in the chat before its buttons. Questions of earlier versions were cut where they were long. */
  #isReadable({ approval }: AskedApproval): boolean {
    const { job } = this.#init.inbox.find(questionKey(approval)) ?? {};
    if (job?.do === "ask") return job.shown?.isWhole === true;
    return "text" in readableInput(approval.descriptor.input, {});
  }

  isOpenIn({ messengerId, threadId }: Place): boolean {
    return this.#init.approvals.open(messengerId, threadId).length > 0;
  }

  /**
   * Those of the thread that another surface has decided, or that have expired. In line with presses: one that is at work says
   * who pressed. `known`: not those whose outcome is not stored yet, since their action may be running.
   */
  async closeDecided({ messengerId, threadId }: Place, which: "all" | "known"): Promise<void> {
    const { approvals, inbox } = this.#init;
    for (const asked of approvals.open(messengerId, threadId)) {
      // A thread's questions may be those of several agents.
      const target = await this.#init.targetOf(asked.target);
      const waiting = await target.waitingApprovals(asked.approval.executionId);
      if (waits(asked, waiting)) continue;
      const outcome = await target.approvalOutcome(asked.approval.descriptor.toolCallId);
      if (!outcome && waiting.length === 0 && which === "known") continue;
      inbox.transaction(() => this.#close(asked, outcomeText(outcome), waiting));
    }
  }

  async press(reply: MessengerReply, { action, thread }: MessengerEvent): Promise<void> {
    const { approvals, inbox } = this.#init;
    const asked = approvals.find(action?.value ?? "");
    const isOfThread = asked?.messengerId === reply.messengerId && asked.threadId === thread.id;
    if (!action || !asked || !isOfThread) return this.#answer(reply, "This question is not known any more.");
    if (!asked.isOpen) return this.#answer(reply, "Already resolved.");
    if (isApproval(action) && !this.#isReadable(asked)) return this.#answer(reply, NOT_READABLE);
    const { executionId, descriptor } = asked.approval;
    const target = await this.#init.targetOf(asked.target);
    // A process that dies from here on may have decided: the press is then found begun, and repeated.
    const isRepeated = reply.stage === "streaming";
    inbox.save(reply.key, "streaming", []);
    const by = `${reply.messengerId}:${action.user?.userId ?? "unknown"}`;
    const output = await decide(target, asked, { by, action });
    const waiting = await target.waitingApprovals(executionId);
    if (waits(asked, waiting)) return this.#answer(reply, refusalOf(output));
    const isDone = !isRefusal(output, executionId);
    const found = isDone ? undefined : await target.approvalOutcome(descriptor.toolCallId);
    // Without a stored outcome, what a press that was cut off decided is still at work.
    const isOurs = isDone || (found ? isDecisionOf(found, { by, action }) : isRepeated);
    inbox.transaction(() => {
      this.#close(asked, isOurs ? ownText(action, by) : outcomeText(found), waiting);
      this.#answer(reply, isOurs ? "" : "Already resolved.");
    });
  }

  #answer({ key, messengerId, threadId }: MessengerReply, message: string): void {
    const { inbox } = this.#init;
    inbox.transaction(() => {
      inbox.complete(key);
      if (message !== "") inbox.add({ messengerId, threadId, key: `${key}:answer`, job: { do: "say", message } });
    });
  }

  /** `next`: what the same run waits for now. Part of the caller's transaction. */
  #close(asked: AskedApproval, outcome: string, next: readonly PendingApproval[]): void {
    const { approvals, inbox } = this.#init;
    if (!approvals.close(asked.token)) return;
    const { messengerId, threadId, approval } = asked;
    const of = questionKey(approval);
    const message = { markdown: decidedText(approval, outcome) };
    inbox.add({ messengerId, threadId, key: `${of}:decided`, job: { do: "change", of, message } });
    for (const one of next) this.ask(asked, asked.target, one);
  }
}

function decide(
  target: DecidingTarget,
  { approval: { executionId, inputHash } }: AskedApproval,
  { by, action }: { readonly by: string; readonly action: MessengerAction }
): Promise<ActionOutput> {
  const decision = { by, ...(inputHash !== undefined && { inputHash }) };
  return isApproval(action)
    ? target.approveExecution(executionId, decision)
    : target.rejectExecution(executionId, undefined, decision);
}

function isApproval({ actionId }: MessengerAction): boolean {
  return actionId === APPROVE_ACTION;
}

/** Code may wait again, for another call: that is another question. */
function waits({ approval }: AskedApproval, waiting: readonly PendingApproval[]): boolean {
  return waiting.some(({ inputHash }) => inputHash === approval.inputHash);
}

function isDecisionOf(
  { how, by: decidedBy }: ApprovalOutcome,
  { by, action }: { readonly by: string; readonly action: MessengerAction }
): boolean {
  return decidedBy === by && how === (isApproval(action) ? "approved" : "rejected");
}

function ownText(action: MessengerAction, by: string): string {
  const name = action.user?.fullName ?? action.user?.userName ?? by;
  return `${isApproval(action) ? "Approved" : "Rejected"} by ${name}.`;
}

function outcomeText(outcome: ApprovalOutcome | undefined): string {
  if (!outcome) return "Decided elsewhere.";
  if (outcome.how === "expired") return "Expired.";
  const how = outcome.how === "approved" ? "Approved" : "Rejected";
  return outcome.by === null ? `${how} elsewhere.` : `${how} by ${approverName(outcome.by)}.`;
}

/** Actions return what they like; a refusal names the run that it is about. */
function isRefusal(output: ActionOutput, executionId: string): boolean {
  return isObject(output) && output["status"] === "error" && output["executionId"] === executionId;
}

function refusalOf(output: ActionOutput): string {
  const error = isObject(output) ? output["error"] : undefined;
  return typeof error === "string" ? error : "Nothing was done: you may not decide this.";
}

/** 64 bits: too many to guess, few enough for the smallest button. */
function randomToken(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(8)));
}
