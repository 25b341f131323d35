// What the session refuses.
import { errorTable, ThinkError } from "../util/errors.ts";

export const sessionErrors = errorTable(ThinkError, {
  /** What was given as a message is not one. */
  InvalidMessageError: (reason: string) => ({
    code: "invalid-message",
    message: `A message could not be accepted: ${reason}.`,
    hint: 'Messages are UIMessage values of the AI SDK: { id, role: "user" | "assistant" | "system", parts: [...] }, with a type on every part.'
  }),
  /** The messages are stored, but reading them failed. Never an empty conversation: a client would take that for a clear. */
  HistoryUnreadableError: (cause: unknown) => ({
    code: "history-unreadable",
    message: "The conversation could not be read. Nothing is lost; try again.",
    hint: "The cause is what the database said. The next read tries again; after a restart of the object it is read anew.",
    cause
  }),
  UnknownParentError: (parentId: string) => ({
    code: "unknown-parent",
    message: `addMessages: parentId "${parentId}" does not exist in this session`,
    hint: "Pass the id of a stored message, null for a new root, or nothing for the latest message."
  }),
  /** There is no such message to go to. */
  UnknownMessageError: (messageId: string) => ({
    code: "unknown-message",
    message: `There is no message "${messageId.slice(0, 256)}" in this conversation.`,
    hint: "It was deleted, or the conversation was cleared. listBranches() gives the ids of versions."
  }),
  SessionInUseError: (method: string, /** What can still be called. */ instead?: string) => ({
    code: "session-in-use",
    message: `${method}() must be called before the session is first used${instead === undefined ? "" : `: call ${instead}() now`}.`,
    hint: "Configure the session in configureSession, before reading or writing messages."
  }),
  SessionHostMissingError: () => ({
    code: "session-host-missing",
    message: "Session.create needs an everthink agent or a SessionProvider.",
    hint: "Pass `this` from an Agent or Think subclass, or an object with the methods of SessionProvider."
  }),
  SearchUnsupportedError: () => ({
    code: "search-unsupported",
    message: "Session provider does not support search",
    hint: "Give the provider a searchMessages(query, limit) method, or use the agent's own storage."
  }),
  SummaryRefusedError: (reason: string) => ({
    code: "summary-refused",
    message: `The summary cannot stand for messages: ${reason}.`,
    hint: "Nothing was hidden. Check what the summarizing model returned."
  }),
  NoSummarizerError: () => ({
    code: "no-summarizer",
    message: "There is no model to summarize with.",
    hint: "Give createCompactFunction() a `summarize`: only the session of configureSession() has the agent's own model."
  }),
  NoCompactionFunctionError: () => ({
    code: "no-compaction-function",
    message: "No compaction function registered. Call onCompaction() first.",
    hint: "For example: session.onCompaction(createCompactFunction())."
  }),
  CompactionUnsupportedError: () => ({
    code: "compaction-unsupported",
    message: "Session provider does not support compaction",
    hint: "Give the provider addCompaction(summary, from, to) and getCompactions(), or use the agent's own storage."
  })
});

export class CompactionRangeError extends ThinkError {
  constructor(
    readonly fromMessageId: string,
    readonly toMessageId: string
  ) {
    super({
      code: "compaction-range",
      message: `There is no path from message "${fromMessageId}" to message "${toMessageId}".`,
      hint: "Both must be stored in this session, and the first must come before the second on one branch."
    });
  }
}
