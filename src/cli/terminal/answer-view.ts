// Answers of a conversation as lines of a terminal, as they grow: text, and each tool call once when it has an outcome.
import type { UIMessage } from "ai";
import { isToolPart, type ToolPart } from "../../model/tool-part.ts";
import { isSettledCall } from "../answer-printer.ts";
import { toolCard } from "../message-text.ts";
import { GrowingMarkdown, GrowingPlainText, type GrownLines, type GrowingText } from "./growing-text.ts";
import type { MarkdownLook } from "./markdown.ts";

export interface AnswerLook extends MarkdownLook {
  /** False: text as the model wrote it. */
  readonly isMarkdown: boolean;
}

type Item = { readonly key: string } & (
  { readonly text: string; /** Nothing follows it yet. */ readonly isLast: boolean } | { readonly call: ToolPart }
);

export class AnswerView {
  readonly #look: () => AnswerLook;
  /** What has been shown to its end: texts by message and part, with what they said; calls by their id. */
  readonly #shown = new Map<string, string>();
  readonly #growing = new Map<string, GrowingText>();

  constructor(look: () => AnswerLook) {
    this.#look = look;
  }

  /** These were there before. */
  skip(messages: readonly UIMessage[]): void {
    for (const item of itemsOf(messages)) this.#shown.set(item.key, "text" in item ? item.text : "");
  }

  /** What is new, and what may still change. */
  show(messages: readonly UIMessage[], isGrowing: boolean): GrownLines {
    const done: string[] = [];
    let open: readonly string[] = [];
    for (const item of itemsOf(messages)) {
      const before = this.#shown.get(item.key);
      if ("call" in item) {
        if (before === undefined) done.push(...this.#card(item.call));
        this.#shown.set(item.key, "");
        continue;
      }
      if (item.text === "" || before === item.text) continue;
      const grown = this.#grow(item, isGrowing && item.isLast);
      done.push(...grown.done);
      open = grown.open;
    }
    return { done, open };
  }

  #grow({ key, text }: { key: string; text: string }, isGrowing: boolean): GrownLines {
    const look = this.#look;
    let growing = this.#growing.get(key);
    if (growing === undefined) {
      growing = look().isMarkdown ? new GrowingMarkdown(look) : new GrowingPlainText(look);
      // A text that was there, and goes on.
      const before = this.#shown.get(key);
      if (before !== undefined) growing.grow(before, true);
    }
    this.#growing.set(key, growing);
    const grown = growing.grow(text, isGrowing);
    if (isGrowing) return grown;
    this.#shown.set(key, text);
    this.#growing.delete(key);
    return grown;
  }

  #card(call: ToolPart): string[] {
    return toolCard(call)
      .split("\n")
      .map((line) => this.#look().paint("dim", line));
  }
}

function itemsOf(messages: readonly UIMessage[]): Item[] {
  const last = messages.at(-1)?.parts.at(-1);
  return messages
    .filter(({ role }) => role === "assistant")
    .flatMap(({ id, parts }) =>
      parts.flatMap((part, index): Item[] => {
        if (part.type === "text") return [{ key: `${id} ${index}`, text: part.text, isLast: part === last }];
        return isToolPart(part) && isSettledCall(part) ? [{ key: part.toolCallId, call: part }] : [];
      })
    );
}
