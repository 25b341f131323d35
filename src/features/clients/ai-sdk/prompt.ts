// What the end of a prompt means to a durable agent: a question, or answers to calls of its last answer. What comes before
// is the caller's copy of a conversation that is stored elsewhere.
import type { LanguageModelV3FilePart, LanguageModelV3Message, LanguageModelV3ToolResultPart } from "@ai-sdk/provider";
import { generateId, type UIMessage } from "ai";
import { encodeBase64 } from "../../../util/bytes.ts";
import { errorTable, ThinkError } from "../../../util/errors.ts";
import { asMessagePart, isToolPart, type ToolPart } from "../../../model/tool-part.ts";

const bridgeErrors = errorTable(ThinkError, {
  /** The prompt has nothing new for the durable agent. */
  NoQuestionError: () => ({
    code: "bridge-no-question",
    message: "The prompt ends with neither a question nor an answer to a call.",
    hint: "The conversation is stored with the durable agent: end the prompt with what is new."
  }),
  /** The prompt answers calls of an answer that was given elsewhere. */
  UnknownAnswerError: () => ({
    code: "bridge-unknown-answer",
    message: "These calls belong to an answer that was not given here.",
    hint: "Keep the object that toAISDKAgent() returned while calls wait, or answer them with another client."
  })
});

/** Reads the request at the end of a prompt. `answer` is the last one that the durable agent gave here. */
export function readRequest(prompt: readonly LanguageModelV3Message[], answer: UIMessage | undefined): UIMessage {
  const tail = prompt.slice(prompt.findLastIndex(({ role }) => role === "assistant") + 1);
  const parts = tail.flatMap((message) => (message.role === "user" ? message.content.map(toQuestionPart) : []));
  if (parts.length > 0) return { id: generateId(), role: "user", parts };
  const answers = tail.flatMap((message) => (message.role === "tool" ? message.content : []));
  if (answers.length === 0) throw bridgeErrors.NoQuestionError();
  if (!answer) throw bridgeErrors.UnknownAnswerError();
  return answers.reduce(withAnswer, answer);
}

type UserPart = Extract<LanguageModelV3Message, { role: "user" }>["content"][number];
type Answer = Extract<LanguageModelV3Message, { role: "tool" }>["content"][number];

function toQuestionPart(part: UserPart): UIMessage["parts"][number] {
  if (part.type === "text") return { type: "text", text: part.text };
  const { mediaType, filename } = part;
  return { type: "file", mediaType, url: urlOf(part), filename };
}

function urlOf({ data, mediaType }: LanguageModelV3FilePart): string {
  if (data instanceof URL) return data.href;
  return `data:${mediaType};base64,${typeof data === "string" ? data : encodeBase64(data)}`;
}

function withAnswer(message: UIMessage, given: Answer): UIMessage {
  const parts = message.parts.map((part) => {
    if (!isToolPart(part)) return part;
    if (given.type === "tool-result") return part.toolCallId === given.toolCallId ? withOutcome(part, given) : part;
    const { approval } = part;
    if (approval?.id !== given.approvalId || part.state !== "approval-requested") return part;
    const decision = { ...approval, approved: given.approved };
    return asMessagePart({ ...part, state: "approval-responded", approval: decision });
  });
  return { ...message, parts };
}

function withOutcome(part: ToolPart, { output }: LanguageModelV3ToolResultPart): UIMessage["parts"][number] {
  switch (output.type) {
    case "error-text":
      return asMessagePart({ ...part, state: "output-error", errorText: output.value });
    case "error-json":
      return asMessagePart({ ...part, state: "output-error", errorText: JSON.stringify(output.value) });
    case "execution-denied":
      return asMessagePart({ ...part, state: "output-error", errorText: output.reason ?? "The call was denied." });
    case "text":
    case "json":
    case "content":
      return asMessagePart({ ...part, state: "output-available", output: output.value });
  }
}
