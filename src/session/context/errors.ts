// What context blocks refuse. The model reads these messages as results of its tools.
import { errorTable, ThinkError } from "../../util/errors.ts";

export const blockErrors = errorTable(ThinkError, {
  ReadonlyBlockError: (label: string) => ({
    code: "block-readonly",
    message: `Block "${label}" is readonly`,
    hint: "Give the block a provider with a set method, or leave the provider out to keep it in the agent's storage."
  }),
  UnknownBlockError: (label: string) => ({
    code: "block-not-found",
    message: `Block "${label}" not found`,
    hint: "Declare it with withContext() or addContext() first."
  }),
  BlockExistsError: (label: string) => ({
    code: "block-exists",
    message: `Block "${label}" already exists`,
    hint: "Labels are unique in a session. Call removeContext() first to put another block in its place."
  }),
  KeyedBlockError: (label: string) => ({
    code: "block-keyed",
    message: `Block "${label}" has a keyed provider: it is written entry by entry`,
    hint: "Call the provider's own set(key, content), or let the model use set_context."
  }),
  BlockOverTokensError: (label: string, tokens: number, maxTokens: number) => ({
    code: "block-over-tokens",
    message: `Block "${label}" exceeds maxTokens: ${tokens} > ${maxTokens}`,
    hint: "Nothing was written. Shorten the text or raise maxTokens."
  }),
  BlockTooLargeError: (what: string, sizeBytes: number, maxBytes: number) => ({
    code: "block-too-large",
    message: `${what} is too large: ${sizeBytes} of at most ${maxBytes} bytes`,
    hint: "Nothing was written. Texts of this size belong into files."
  }),
  TooManyEntriesError: (label: string, limit: number) => ({
    code: "too-many-entries",
    message: `Block "${label}" is full: it holds ${limit} entries`,
    hint: "Write an empty text under a key to remove its entry."
  }),
  InvalidBlockError: (label: string, reason: string) => ({
    code: "invalid-block",
    message: `Block "${label}" cannot be declared: ${reason}.`,
    hint: "See withContext() for what a block takes."
  }),
  ProviderRequiredError: (label: string) => ({
    code: "context-provider-required",
    message: `Block "${label}" needs an explicit provider: this session is not over an agent's storage.`,
    hint: "Pass { provider } to addContext()."
  }),
  NoLabelError: (provider: string) => ({
    code: "context-label-missing",
    message: `${provider} was used before it was given a label.`,
    hint: "Use it as the provider of a block, or call its init(label) first."
  })
});
