// What a prompt says about the conversation: the questions, what was answered to each, and what became of tool calls.
// The requests that the library adds to go on with an answer are not questions. Pure.
import type { Prompt, PromptMessage } from "../language-model.ts";
import { outcomeOf, type Outcome } from "./outcome.ts";

export interface Picture {
  readonly mediaType: string;
  /** Undefined when the prompt only names where it is. */
  readonly sizeBytes: number | undefined;
}

export interface Call {
  readonly tool: string;
  readonly input: unknown;
  /** Undefined: not answered yet. */
  readonly outcome: Outcome | undefined;
}

export type AnswerPart = { readonly type: "text"; readonly text: string } | ({ readonly type: "call" } & Call);

/** One question with what was answered so far. */
export interface Exchange {
  readonly question: string;
  readonly pictures: readonly Picture[];
  readonly answer: readonly AnswerPart[];
}

export interface Conversation {
  readonly system: string;
  /** Oldest first; at least one. */
  readonly exchanges: readonly Exchange[];
  /** The last thing said is that an action, perhaps of long ago, has been decided. */
  readonly isDecision: boolean;
}

/** How the library asks a model to go on. They come after an answer and never from a person. */
const CONTINUE = "Continue your previous response exactly where it stopped";
const DECIDED = "The action that was waiting for approval has been decided";

export function readConversation(prompt: Prompt): Conversation {
  const outcomes = outcomesIn(prompt);
  const exchanges: { question: string; pictures: Picture[]; answer: AnswerPart[] }[] = [];
  for (const message of prompt) {
    if (message.role === "user" && !isRequest(message)) {
      exchanges.push({ question: textOf(message), pictures: picturesOf(message), answer: [] });
    }
    if (message.role === "assistant") exchanges.at(-1)?.answer.push(...answerParts(message, outcomes));
  }
  const last = prompt.at(-1);
  return {
    system: prompt.flatMap((message) => (message.role === "system" ? [message.content] : [])).join("\n\n"),
    exchanges: exchanges.length > 0 ? exchanges : [{ question: "", pictures: [], answer: [] }],
    isDecision: last?.role === "user" && textOf(last).startsWith(DECIDED)
  };
}

type UserMessage = Extract<PromptMessage, { role: "user" }>;
type AssistantMessage = Extract<PromptMessage, { role: "assistant" }>;

function isRequest(message: UserMessage): boolean {
  const text = textOf(message);
  return text.startsWith(CONTINUE) || text.startsWith(DECIDED);
}

function textOf({ content }: UserMessage): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function picturesOf({ content }: UserMessage): Picture[] {
  return content.flatMap((part) => {
    if (part.type !== "file" || !part.mediaType.startsWith("image")) return [];
    return [{ mediaType: part.mediaType, sizeBytes: sizeOf(part.data) }];
  });
}

type FileData = Extract<UserMessage["content"][number], { type: "file" }>["data"];

function sizeOf(data: FileData): number | undefined {
  if (data.type !== "data") return undefined;
  if (typeof data.data !== "string") return data.data.byteLength;
  const padding = /=*$/.exec(data.data)?.[0].length ?? 0;
  return Math.floor((data.data.length * 3) / 4) - padding;
}

function outcomesIn(prompt: Prompt): Map<string, Outcome> {
  const outcomes = new Map<string, Outcome>();
  for (const message of prompt) {
    if (message.role !== "tool" && message.role !== "assistant") continue;
    for (const part of message.content) {
      if (part.type === "tool-result") outcomes.set(part.toolCallId, outcomeOf(part.output));
    }
  }
  return outcomes;
}

function answerParts({ content }: AssistantMessage, outcomes: ReadonlyMap<string, Outcome>): AnswerPart[] {
  return content.flatMap((part): AnswerPart[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    if (part.type !== "tool-call") return [];
    return [{ type: "call", tool: part.toolName, input: part.input, outcome: outcomes.get(part.toolCallId) }];
  });
}
