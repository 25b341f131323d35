// Names of things, each with its own type so that a call id can never be passed where a turn id is meant. The types are
// erased at run time; the constructors are the only way to make one from plain text, and they refuse what cannot be a key.
// Minting fresh ids is the host's job (the Ids port): these functions only give the text its type.
import { isLongerThan } from "./bytes.ts";
import { errorTable, ThinkError } from "./errors.ts";

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** One turn, from admission to outcome, over every retry, continuation and restart. */
export type TurnId = Branded<"turn">;
/** One message of a conversation. The assistant's is minted at admission, before the first chunk. */
export type MessageId = Branded<"message">;
/** One tool call, as the provider named it. */
export type CallId = Branded<"call">;
/** What a client called its request. An alias of a turn, never a key. */
export type RequestId = Branded<"request">;
/** One question to a human about a call. */
export type ApprovalId = Branded<"approval">;
/** One activation of the object: two attempts of the same epoch ran in the same process. */
export type EpochId = Branded<"epoch">;

/** Ids we mint, or take from a client. */
export const MAX_ID_BYTES = 256;
/** Providers put signatures into call ids, so these can be long. */
export const MAX_CALL_ID_BYTES = 16 * 1024;

const idErrors = errorTable(ThinkError, {
  InvalidIdError: (kind: string, reason: string) => ({
    code: "invalid-id",
    message: `This is not a usable ${kind} id: ${reason}.`
  })
});

export const turnId = (text: string): TurnId => checked<TurnId>("turn", text, MAX_ID_BYTES);
export const messageId = (text: string): MessageId => checked<MessageId>("message", text, MAX_ID_BYTES);
export const callId = (text: string): CallId => checked<CallId>("call", text, MAX_CALL_ID_BYTES);
export const requestId = (text: string): RequestId => checked<RequestId>("request", text, MAX_ID_BYTES);
export const approvalId = (text: string): ApprovalId => checked<ApprovalId>("approval", text, MAX_CALL_ID_BYTES);
export const epochId = (text: string): EpochId => checked<EpochId>("epoch", text, MAX_ID_BYTES);

/** Whether an id that was made elsewhere can be a key here. */
export function isUsableId(id: unknown, maxBytes: number = MAX_ID_BYTES): id is string {
  return typeof id === "string" && problemOf(id, maxBytes) === undefined;
}

function checked<Id extends string>(kind: string, text: string, maxBytes: number): Id {
  const problem = problemOf(text, maxBytes);
  if (problem !== undefined) throw idErrors.InvalidIdError(kind, problem);
  // The brand exists in the type only; this is the one place that grants it.
  return text as Id;
}

/** Why a text cannot be a key. */
function problemOf(text: string, maxBytes: number): string | undefined {
  if (text === "") return "it is empty";
  if (text.includes("\0")) return "it contains a NUL character";
  // SQLite stores UTF-8, which has no half of a character: another id would come back, and never be found again.
  if (!text.isWellFormed()) return "it contains half of a character";
  return isLongerThan(text, maxBytes) ? `it is longer than ${maxBytes} bytes` : undefined;
}
