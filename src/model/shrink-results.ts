// Makes space in a prompt by cutting long results of tools, oldest first, as old messages are cut: the shape of each
// stays. What is stored is never touched. Results that a provider made itself stay whole: it may check them. Pure.
import type { ModelMessage, ToolModelMessage } from "ai";
import { truncateText, truncateToolOutput } from "../util/truncate-value.ts";

/** Results are cut to this, and to the next if that is not enough. Shorter ones stay whole. */
const PASSES_CHARS = [2_000, 500] as const;

/** A result of this length or less is not worth cutting. */
export const SHRINKS_ABOVE_CHARS = PASSES_CHARS[0];

export interface ShrinkOptions {
  /** Calls whose results may be cut. */
  readonly callIds: ReadonlySet<string>;
  /** How long all of them together may be. What cannot be had by cutting stays longer. */
  readonly toChars: number;
}

type ResultPart = Extract<ToolModelMessage["content"][number], { type: "tool-result" }>;
type Output = ResultPart["output"];

/** Unchanged messages are the same objects; nothing to change gives the same list. */
export function shrinkToolResults(messages: ModelMessage[], { callIds, toChars }: ShrinkOptions): ModelMessage[] {
  const results = resultsOf(messages).filter(({ toolCallId }) => callIds.has(toolCallId));
  const cut = new Map<string, Output>();
  let chars = toolResultChars(messages, callIds);
  for (const maxChars of PASSES_CHARS) {
    for (const { toolCallId, output } of results) {
      if (chars <= toChars || charsOf(output) <= maxChars) continue;
      // From the whole each time: the note in it says how long that was.
      const shorter = cutOutput(output, maxChars);
      const saved = charsOf(cut.get(toolCallId) ?? output) - charsOf(shorter);
      if (saved <= 0) continue;
      chars -= saved;
      cut.set(toolCallId, shorter);
    }
  }
  return cut.size === 0 ? messages : messages.map((message) => withOutputs(message, cut));
}

function withOutputs(message: ModelMessage, outputs: ReadonlyMap<string, Output>): ModelMessage {
  if (message.role !== "tool") return message;
  const content = message.content.map((part) => {
    const output = part.type === "tool-result" ? outputs.get(part.toolCallId) : undefined;
    return output ? { ...part, output } : part;
  });
  return content.some((part, index) => part !== message.content[index]) ? { ...message, content } : message;
}

/** How long the results of these calls are together. */
export function toolResultChars(messages: readonly ModelMessage[], callIds: ReadonlySet<string>): number {
  let chars = 0;
  for (const part of resultsOf(messages)) if (callIds.has(part.toolCallId)) chars += charsOf(part.output);
  return chars;
}

/** The calls that have results. */
export function answeredCallIds(messages: readonly ModelMessage[]): string[] {
  return resultsOf(messages).map(({ toolCallId }) => toolCallId);
}

function resultsOf(messages: readonly ModelMessage[]): ResultPart[] {
  return messages.flatMap((message) =>
    message.role === "tool" ? message.content.filter((part) => part.type === "tool-result") : []
  );
}

function cutOutput(output: Output, maxChars: number): Output {
  switch (output.type) {
    case "text":
    case "error-text":
      return { ...output, value: truncateText(output.value, maxChars) };
    case "json":
    case "error-json":
      // It keeps what is JSON JSON.
      return { ...output, value: truncateToolOutput(output.value, maxChars) as typeof output.value };
    case "content":
      return { ...output, value: output.value.map((part) => cutContent(part, maxChars)) };
    default:
      return output;
  }
}

/** Pictures and files are not counted in characters. */
function cutContent<Part extends { type: string }>(part: Part, maxChars: number): Part {
  if (!isText(part) || part.text.length <= maxChars) return part;
  return { ...part, text: truncateText(part.text, maxChars) };
}

function isText<Part extends { type: string }>(part: Part): part is Part & { text: string } {
  return part.type === "text" && "text" in part && typeof part.text === "string";
}

function charsOf(output: Output): number {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value.length;
    case "json":
    case "error-json":
      return (JSON.stringify(output.value) ?? "").length;
    case "content":
      return output.value.reduce((sum, part) => sum + (isText(part) ? part.text.length : 0), 0);
    default:
      return 0;
  }
}
