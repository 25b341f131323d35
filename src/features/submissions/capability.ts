// Durable submissions as a capability: settings, override points and public names.
import type {
  SubmitMessagesOptions,
  SubmitMessagesResult,
  ThinkSubmissionInspection
} from "../../feature/submission-types.ts";
import type { UIMessage } from "ai";
import { currentContext } from "../../agent/context.ts";
import { chatCapability } from "../../feature/capability.ts";
import { openSubmissions } from "./feature.ts";

import type { CancelSubmissionResult, DeleteSubmissionsOptions, ListSubmissionsOptions } from "./submissions.ts";
import { ownMetadata } from "./request.ts";

export class SubmissionMembers {
  static readonly changes = [
    "submitMessages",
    "cancelSubmission",
    "deleteSubmission",
    "deleteSubmissions"
  ] satisfies (keyof SubmissionMembers)[];

  /**
   * How long ended submissions are kept, looked at when the agent starts. Default: until they are deleted.
   * @example
   * submissionRetentionMs = 7 * 24 * 3_600_000;
   */
  submissionRetentionMs: number | undefined = undefined;

  /**
   * Accepts a turn: durable when it returns, run when the turns before it are over. Also from inside a turn. Under an id or
   * key that is known it changes nothing and returns what is known, with `accepted: false`.
   *
   * @example
   * const { submissionId } = await agent.submitMessages([message], { idempotencyKey: event.id });
   */
  async submitMessages(messages: UIMessage[], options?: SubmitMessagesOptions): Promise<SubmitMessagesResult> {
    const isFromClient = currentContext().connection !== undefined;
    return submissions.of(this).accept(messages, isFromClient ? withoutReserved(options) : options);
  }

  async inspectSubmission(submissionId: string): Promise<ThinkSubmissionInspection | null> {
    return submissions.of(this).kept.inspect(submissionId);
  }

  /** Newest first. */
  async listSubmissions(options?: ListSubmissionsOptions): Promise<ThinkSubmissionInspection[]> {
    return submissions.of(this).kept.list(options);
  }

  /** Resolves when the submission is over; after `timeoutMs` with how it stands. Null: there is none of this id. */
  async waitForSubmission(
    submissionId: string,
    options?: { timeoutMs?: number }
  ): Promise<ThinkSubmissionInspection | null> {
    return submissions.of(this).kept.wait(submissionId, options);
  }

  /** One that waits never runs; one that runs is stopped and keeps what it has said. One that is over is left alone. */
  async cancelSubmission(submissionId: string, reason?: unknown): Promise<CancelSubmissionResult> {
    return submissions.of(this).kept.cancel(submissionId, reason);
  }

  /** Forgets a submission that is over, with its key. False: there is none, or it is not over. */
  async deleteSubmission(submissionId: string): Promise<boolean> {
    return submissions.of(this).kept.delete(submissionId);
  }

  /** Forgets submissions that are over, the first to end first. Returns how many. */
  async deleteSubmissions(options?: DeleteSubmissionsOptions): Promise<number> {
    return submissions.of(this).kept.deleteAll(options);
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
   * changes nothing. A call that a crash prevented or cut off is made after the restart: each is made at least once.
   * @example
   * onSubmissionStatus({ submissionId, status }: ThinkSubmissionInspection) {
   *   if (status === "error") console.error(`Submission ${submissionId} failed.`);
   * }
   */
  protected onSubmissionStatus(_submission: ThinkSubmissionInspection): void | Promise<void> {}
}

/** A class that submits nothing has no table, no wake and no call for them. */
export const submissions = chatCapability({
  name: "submissions",
  members: SubmissionMembers,
  feature: openSubmissions
});

/** Metadata that begins with two underscores is the package's: a client must not give it. */
function withoutReserved(options: SubmitMessagesOptions = {}): SubmitMessagesOptions {
  const { metadata, ...others } = options;
  return metadata === undefined ? others : { ...others, metadata: ownMetadata(metadata) };
}
