// What can be wrong with the state of Chat SDK adapters, or with how it is opened.
import { errorTable, ThinkError } from "../../util/errors.ts";

export const chatSdkErrors = errorTable(ThinkError, {
  /** The state was used before `connect()`. */
  StateNotConnectedError: () => ({
    code: "chat-sdk-not-connected",
    message: "The state of the messengers is not connected.",
    hint: "The Chat SDK calls connect() when it starts; code of your own must do so before."
  }),
  /** No agent is known that could have the facets of the state. */
  NoStateParentError: () => ({
    code: "chat-sdk-no-parent",
    message: "createChatSdkState() was called outside an agent.",
    hint: "Call it in a method of the agent, or give it { parent: this }."
  }),
  /** An entry without its times cannot be ordered or dropped. */
  QueueEntryError: () => ({
    code: "chat-sdk-queue-entry",
    message: "An entry of a queue needs the numbers enqueuedAt and expiresAt.",
    hint: "The Chat SDK sets them; an entry of your own must have them, too."
  }),
  /** The value under a key is not JSON: another writer was there. */
  StoredValueError: (key: string, cause: unknown) => ({
    code: "chat-sdk-stored-value",
    message: `The value of "${key}" in the state of a messenger cannot be read.`,
    hint: "Only createChatSdkState() writes these tables. Delete the row to go on.",
    cause
  })
});
