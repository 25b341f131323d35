// What a class gets for durable submissions: declarations only. What they do is in src/submissions.
import type { UIMessage } from "ai";
import { assertCallerMayChange } from "../../agent/connections/readonly.ts";
import { getCurrentAgent } from "../../agent/context.ts";
import type { WorkflowQuestion } from "./workflow-approvals.ts";
import type { ThinkSubmissionInspection } from "./submission.ts";
import type {
  CancelSubmissionResult,
  DeleteSubmissionsOptions,
  ListSubmissionsOptions,
  SubmitMessagesOptions,
  SubmitMessagesResult
} from "./submissions.ts";
import { ownMetadata } from "./request.ts";
import { ChildRunAgent } from "../agent-tools/child-run-agent.ts";
import { thinkRuntimeOf } from "../../think/runtime.ts";

export abstract class SubmissionAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends ChildRunAgent<Env, State, Props> {
  /** How long ended submissions are kept, looked at when the agent starts. Default: until they are deleted. */
  submissionRetentionMs: number | undefined = undefined;

  /**
   * Accepts a turn: durable when it returns, run when the turns before it are over. Also from inside a turn. Under an id or
   * key that is known it changes nothing and returns what is known, with `accepted: false`.
   *
   * @example
   * const { submissionId } = await agent.submitMessages([message], { idempotencyKey: event.id });
   */
  async submitMessages(messages: UIMessage[], options?: SubmitMessagesOptions): Promise<SubmitMessagesResult> {
    assertCallerMayChange(this);
    const isFromClient = getCurrentAgent().connection !== undefined;
    return thinkRuntimeOf(this).parts.deferred.submit(messages, isFromClient ? withoutReserved(options) : options);
  }

  async inspectSubmission(submissionId: string): Promise<ThinkSubmissionInspection | null> {
    return thinkRuntimeOf(this).parts.deferred.submissions.inspect(submissionId);
  }

  /** Newest first. */
  async listSubmissions(options?: ListSubmissionsOptions): Promise<ThinkSubmissionInspection[]> {
    return thinkRuntimeOf(this).parts.deferred.submissions.list(options);
  }

  /** Resolves when the submission is over; after `timeoutMs` with how it stands. Null: there is none of this id. */
  async waitForSubmission(
    submissionId: string,
    options?: { timeoutMs?: number }
  ): Promise<ThinkSubmissionInspection | null> {
    return thinkRuntimeOf(this).parts.deferred.submissions.wait(submissionId, options);
  }

  /** One that waits never runs; one that runs is stopped and keeps what it has said. One that is over is left alone. */
  async cancelSubmission(submissionId: string, reason?: unknown): Promise<CancelSubmissionResult> {
    assertCallerMayChange(this);
    return thinkRuntimeOf(this).parts.deferred.submissions.cancel(submissionId, reason);
  }

  /** Forgets a submission that is over, with its key. False: there is none, or it is not over. */
  async deleteSubmission(submissionId: string): Promise<boolean> {
    assertCallerMayChange(this);
    return thinkRuntimeOf(this).parts.deferred.submissions.delete(submissionId);
  }

  /** Forgets submissions that are over, the first to end first. Returns how many. */
  async deleteSubmissions(options?: DeleteSubmissionsOptions): Promise<number> {
    assertCallerMayChange(this);
    return thinkRuntimeOf(this).parts.deferred.submissions.deleteAll(options);
  }

  /** Called by `step.approval` of the agent's workflows. */
  async internal_askApproval(question: WorkflowQuestion): Promise<string> {
    return thinkRuntimeOf(this).parts.deferred.approvals.ask(question);
  }

  /** Called by `step.approval` when it does not wait any more. */
  async internal_withdrawApproval(executionId: string): Promise<void> {
    thinkRuntimeOf(this).parts.deferred.approvals.withdraw(executionId);
  }

  /**
   * Whether a request may submit, or ask how a submission stands, over HTTP: `POST …/submit` and `GET …/submit/<id>`. A
   * class without this method has no such addresses. The request is a copy: its body may be read.
   *
   * @example
   * authorizeSubmission(request: Request) {
   *   return hasBearerToken(request, this.env.WEBHOOK_SECRET);
   * }
   */
  authorizeSubmission(_request: Request): boolean | Promise<boolean> {
    return false;
  }

  /**
   * Called with each change of a submission's status, in order, at most 10 seconds are waited for it. A throw is logged and
   * changes nothing. A crash can lose a call: what counts is what `inspectSubmission` says.
   */
  protected onSubmissionStatus(_submission: ThinkSubmissionInspection): void | Promise<void> {}
}

/** Metadata that begins with two underscores is the package's: a client must not give it. */
function withoutReserved(options: SubmitMessagesOptions = {}): SubmitMessagesOptions {
  const { metadata, ...others } = options;
  return metadata === undefined ? others : { ...others, metadata: ownMetadata(metadata) };
}
