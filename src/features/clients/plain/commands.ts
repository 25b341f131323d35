// What a plain AI SDK client posts, as what it means: `{ messages, trigger, messageId, … }` with its whole list of messages
// becomes the few at its end that can hold anything new, and the answers to tool calls among them. However long the list
// is, only those are looked at. The client is not trusted: the shape is checked here, what it may change elsewhere.
import { isToolPart, type ToolPart } from "../../../model/index.ts";
import type { ThinkError } from "../../../util/errors.ts";
import { isObject } from "../../../util/json.ts";
import { ok, type Result } from "../../../util/result.ts";
import { readRequestBody, type ChatRequestBody } from "../../../wire/commands.ts";

/** An answer to a call, found in a posted message. */
export type PostedAnswer =
  | { readonly kind: "result"; readonly toolCallId: string; readonly output: unknown; readonly errorText?: string }
  | {
      readonly kind: "approval";
      readonly toolCallId: string;
      readonly approved: boolean;
      readonly approvalId?: string;
      readonly reason?: string;
    };

export interface PlainRequest extends ChatRequestBody {
  /** The answer that the client names, or that its list ends in: it wants that answer to go on. */
  readonly continues: string | undefined;
  readonly answers: readonly PostedAnswer[];
  /** Whether the client names the question at the end of its list: it asks that one again, perhaps in other words. */
  readonly asksAgain: boolean;
}

const FAILED_TEXT = "The tool failed.";

type Body = Readonly<Record<string, unknown>>;

/** Reads a request. `id` and `messageId` are the SDK's own fields, and not the application's. */
export function readPlainRequest({ id: _chat, messageId, messages, ...body }: Body): Result<PlainRequest, ThinkError> {
  const read = readRequestBody({
    ...body,
    messages: Array.isArray(messages) ? cutTail(messages, messageId) : messages
  });
  if (!read.ok) return read;
  const { trigger } = read.value;
  const named = read.value.messages.find((message) => message.role === "assistant" && message.id === messageId);
  const question = read.value.messages.at(-1);
  const last = named ?? question;
  const continues = trigger === "submit-message" && last?.role === "assistant" ? last.id : undefined;
  const answers = read.value.messages.flatMap(({ role, parts }) =>
    role === "assistant" ? parts.flatMap((part) => (isToolPart(part) ? readAnswer(part) : [])) : []
  );
  return ok({ ...read.value, continues, answers, asksAgain: question?.role === "user" && question.id === messageId });
}

/** Cuts the list: from the last answer on, and the answer that the client names, an earlier one whose call it has decided. */
function cutTail(messages: readonly unknown[], messageId: unknown): unknown[] {
  const start = Math.max(0, messages.findLastIndex(isAnswer));
  const tail = messages.slice(start);
  const named = messages.slice(0, start).findLast((one) => isAnswer(one) && one["id"] === messageId);
  return named === undefined ? tail : [named, ...tail];
}

function isAnswer(message: unknown): message is Body {
  return isObject(message) && message["role"] === "assistant";
}

function questionOf({ id, reason }: NonNullable<ToolPart["approval"]>): {
  readonly approvalId?: string;
  readonly reason?: string;
} {
  return { ...(isText(id) && { approvalId: id }), ...(isText(reason) && { reason }) };
}

function readAnswer({ toolCallId, state, output, errorText, approval }: ToolPart): PostedAnswer[] {
  switch (state) {
    case "output-available":
      return [{ kind: "result", toolCallId, output: output ?? null }];
    case "output-error":
      return [{ kind: "result", toolCallId, output: null, errorText: isText(errorText) ? errorText : FAILED_TEXT }];
    case "approval-responded":
      return typeof approval?.approved === "boolean"
        ? [{ kind: "approval", toolCallId, approved: approval.approved, ...questionOf(approval) }]
        : [];
    default:
      return [];
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
