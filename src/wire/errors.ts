// What can be wrong with a chat request. The message reaches the client that sent it, as plain text.
import { errorTable, ThinkError } from "../util/errors.ts";
import { err, type Result } from "../util/result.ts";

export const wireErrors = errorTable(ThinkError, {
  MalformedRequestError: (problem: string) => ({
    code: "malformed-chat-request",
    message: `The chat request could not be read: ${problem}.`,
    hint: "A request is JSON: { messages: [{ id, role, parts: [...] }], trigger?, clientTools?, ... }; in a frame it is the text init.body."
  }),
  /** Storage failed before the request was accepted. Only the log names the cause. */
  RequestNotStoredError: (cause: unknown) => ({
    code: "request-not-stored",
    message: "Your message could not be stored. Please try again.",
    hint: "Storage refused it: the cause says why.",
    cause
  }),
  ForbiddenFrameError: () => ({
    code: "chat-frame-forbidden",
    message: "Connection is readonly",
    hint: "shouldConnectionBeReadonly() or setConnectionReadonly() made it so."
  }),
  /** `messageConcurrency` is "drop", and a turn was running. */
  RequestDroppedError: () => ({
    code: "chat-request-dropped",
    message: "Another answer is still being written. Your message was not taken.",
    hint: 'messageConcurrency is "drop".'
  }),
  TooManyReadersError: (limit: number) => ({
    code: "chat-too-many-readers",
    message: "Too many clients are reading answers of this conversation.",
    hint: `At most ${limit} plain clients are sent answers of one agent at a time. Sockets of useAgentChat do not count.`
  }),
  /** Ends the stream of a client, not its turn. */
  SlowClientError: () => ({
    code: "chat-client-slow",
    message: "The answer was sent faster than it was read. Load it again to see all of it.",
    hint: "More than 32 MiB waited for one client. It can resume the stream, or read the stored messages."
  }),
  UnknownCallError: () => ({
    code: "chat-call-unknown",
    message: "The result is of a tool call that is not part of this conversation.",
    hint: "The conversation was cleared, or the client talks to another agent than before."
  })
});

export class RequestTooLargeError extends ThinkError {
  constructor(
    readonly what: string,
    readonly limitBytes: number
  ) {
    super({
      code: "chat-request-too-large",
      message: `The ${what} of the chat request exceed ${limitBytes} bytes.`,
      hint: "They are kept for later turns of the conversation. Send large values as files of a message."
    });
  }
}

/** Refuses a request that cannot be read. */
export function malformed(problem: string): Result<never, ThinkError> {
  return err(wireErrors.MalformedRequestError(problem));
}
