import { errorTable, ThinkError } from "../util/errors.ts";

export const turnErrors = errorTable(ThinkError, {
  /** A turn cannot wait for another turn of its own conversation: it would wait for itself. */
  NestedTurnError: () => ({
    code: "nested-turn",
    message:
      "Turn admission cannot be called from inside an active turn. To start a turn after this one, do it in " +
      "onChatResponse(), or in a method given to schedule() or queue(). addMessages() adds to the transcript at once.",
    hint: "The call would wait for the turn it is part of."
  }),
  /** Something of ours failed in the middle of a turn. What it was is for the log; clients are shown that there is no answer. */
  AttemptFailedError: (cause: unknown) => ({
    code: "attempt-failed",
    message: "The answer could not be completed.",
    hint: "Not a failure of the model: the cause says what happened. Storage, or a bug; please report it if it repeats.",
    cause
  }),
  /** The function that was to produce the turn's messages died with the process that held it. */
  LostInputError: () => ({
    code: "turn-input-lost",
    message: "The turn was interrupted before its messages were known.",
    hint: "Messages given as a function are not stored until the turn starts; give them as values to survive a restart."
  }),
  /** What was asked cannot be read any more: its record is damaged. */
  TurnUnreadableError: (turnId: string) => ({
    code: "turn-unreadable",
    message: "The request could not be read. Please send it again.",
    hint: `The admission record of turn ${turnId} is damaged; what was stored of it is in the quarantine.`
  }),
  /** `onChatRecovery` said that the turn must not go on. */
  RecoveryDisabledError: () => ({
    code: "recovery-disabled",
    message: "The answer was interrupted, and recovery was disabled for it.",
    hint: "onChatRecovery returned { continue: false }."
  }),
  /** An interrupted turn was given up. Users are shown the class's own text for that. */
  RecoveryExhaustedError: (reason: string, cause?: unknown) => ({
    code: "recovery-exhausted",
    message: `The interrupted answer was given up (${reason}).`,
    hint: "docs/durability.md has the bounds of recovery; chatRecovery changes them.",
    cause
  }),
  /** A hook that decides over recovery did not answer. */
  RecoveryHookTimeoutError: (timeoutMs: number) => ({
    code: "recovery-hook-timeout",
    message: "The decision over an interrupted answer took too long.",
    hint: `onChatRecovery has ${timeoutMs} ms; a later answer is ignored.`
  }),
  QueueFullError: (limit: number) => ({
    code: "turn-queue-full",
    message: "Too many messages are waiting for an answer. Please try again later.",
    hint: `At most ${limit} turns wait in one conversation.`
  }),
  WaitingFullError: (limit: number) => ({
    code: "too-many-waiting",
    message: "Too many messages are waiting already. Withdraw one, or wait for an answer.",
    hint: `At most ${limit} steers and follow-ups wait in one conversation.`
  }),
  WaitingTooLargeError: (limitBytes: number) => ({
    code: "waiting-too-large",
    message: "The message is too large to be given to a conversation that is busy.",
    hint: `A steer or follow-up has at most ${limitBytes} bytes as JSON; larger files belong into the workspace.`
  }),
  /** It took effect, was withdrawn, or never existed. */
  NotWaitingError: () => ({
    code: "not-waiting",
    message: "This message does not wait any more. Nothing was changed.",
    hint: "A steer or follow-up can be edited and withdrawn until it takes effect; its receipt says what became of it."
  }),
  /** Only a running turn has what is asked for. */
  OutsideTurnError: (name: string) => ({
    code: "outside-turn",
    message: `${name}() can only be called inside a turn.`,
    hint: "Call it from a tool or a hook of a running turn."
  })
});

/** The model's stream stopped without a word. */
export class StreamStalledError extends ThinkError {
  constructor(readonly timeoutMs: number) {
    super({
      code: "stream-stalled",
      message: "The chat stream stalled: the model stopped answering.",
      hint: `No chunk came for ${timeoutMs} ms (chatStreamStallTimeoutMs).`
    });
  }
}

/** The turn has used the tokens it was given. */
export class TokenBudgetError extends ThinkError {
  constructor(readonly limit: number) {
    super({
      code: "token-budget-exceeded",
      message: "This answer has reached its limit of tokens.",
      hint: `maxTurnTokens is ${limit}, counted over every attempt of the turn.`
    });
  }
}

/**
 * A feature ends the turn here, with what it has: asking the model again would be refused again. "completed": the turn goes
 * on later, as a continuation of the feature's own.
 */
export class TurnEndError extends ThinkError {
  readonly status: "error" | "completed";
  /** Of the turn's outcome. */
  readonly reason: string;

  constructor(init: ConstructorParameters<typeof ThinkError>[0] & Pick<TurnEndError, "status" | "reason">) {
    super(init);
    this.status = init.status;
    this.reason = init.reason;
  }
}

/** The answer has as many bytes as it may have; what there is of it stays. */
export class AnswerTooLargeError extends TurnEndError {
  constructor(readonly limitBytes: number) {
    super({
      status: "error",
      reason: "answer_too_large",
      code: "answer-too-large",
      message: "This answer has reached its limit of size and ends here.",
      hint: `maxAnswerBytes is ${limitBytes}, counted over text and tool inputs of every attempt of the turn.`
    });
  }
}

/** Why an answer from outside is not taken. */
export type AnswerRefusal =
  "runs-on-server" | "needs-approval" | "incomplete" | "not-open" | "not-allowed" | "bad-input" | "fixed-input";

const REFUSED: Readonly<Record<AnswerRefusal, { readonly message: string; readonly hint: string }>> = {
  "runs-on-server": {
    message: "This call is run by the server. A result from a client is not taken.",
    hint: "Only calls of tools without a server-side execute are answered by clients."
  },
  "needs-approval": {
    message: "This call waits for approval. It can be approved or rejected; a result is not taken.",
    hint: "Answer it with a cf_agent_tool_approval frame. A result in the state output-error rejects it."
  },
  incomplete: {
    message: "The input of this call is not complete yet. A result is not taken.",
    hint: "A client may answer a call from its tool-input-available chunk on."
  },
  "not-open": {
    message: "This call does not wait for a decision any more. Nothing was changed.",
    hint: "It was decided before, it was cleared or left on another branch, or no approval was ever asked for."
  },
  "not-allowed": {
    message: "You may not decide over this call. Nothing was changed.",
    hint: "authorizeApproval() of the agent's class decides who may."
  },
  "bad-input": {
    message: "The changed input is not one that this call can have. Nothing was decided.",
    hint: "The schema of the tool or action refuses it."
  },
  "fixed-input": {
    message: "The input of this call cannot be changed: approve it as it is, or reject it. Nothing was decided.",
    hint: "Extensions to load and questions of workflows are approved as they are."
  }
};

/** A client answered a call that is not its to answer, or no longer open. */
export class ToolAnswerError extends ThinkError {
  /** `message`: in place of the usual one. */
  constructor(
    readonly reason: AnswerRefusal,
    message = REFUSED[reason].message
  ) {
    super({ code: `tool-call-${reason}`, hint: REFUSED[reason].hint, message });
  }
}
