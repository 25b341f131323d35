// Prints answers as they grow: text as it streams, each tool call once when it has an outcome. What was printed stays; an
// answer that was written anew after a crash goes on below with what is different.
import type { UIMessage } from "ai";
import { isToolPart, type ToolPart } from "../model/tool-part.ts";
import { printable, toolCard } from "./message-text.ts";

const SETTLED: ReadonlySet<ToolPart["state"]> = new Set(["output-available", "output-error", "output-denied"]);

/** The call has an outcome. */
export function isSettledCall({ state }: ToolPart): boolean {
  return SETTLED.has(state);
}

export class AnswerPrinter {
  readonly #write: (text: string) => void;
  /** Printed text by message and part. */
  readonly #texts = new Map<string, string>();
  readonly #calls = new Set<string>();
  #isLineOpen = false;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** These were there before. */
  skip(messages: readonly UIMessage[]): void {
    for (const message of messages) {
      for (const [index, part] of message.parts.entries()) {
        if (part.type === "text") this.#texts.set(`${message.id} ${index}`, part.text);
        if (isToolPart(part) && isSettledCall(part)) this.#calls.add(part.toolCallId);
      }
    }
  }

  show(messages: readonly UIMessage[]): void {
    for (const message of messages) {
      if (message.role !== "assistant") continue;
      for (const [index, part] of message.parts.entries()) {
        if (part.type === "text") this.#text(`${message.id} ${index}`, part.text);
        else if (isToolPart(part) && isSettledCall(part)) this.#card(part);
      }
    }
  }

  /** Ends an open line. */
  endLine(): void {
    if (this.#isLineOpen) this.#write("\n");
    this.#isLineOpen = false;
  }

  #text(key: string, text: string): void {
    const printed = this.#texts.get(key) ?? "";
    if (text === printed || (printed.startsWith(text) && text.length < printed.length)) return;
    const isContinued = text.startsWith(printed);
    if (!isContinued) this.endLine();
    const added = printable(isContinued ? text.slice(printed.length) : text);
    this.#texts.set(key, text);
    if (added === "") return;
    this.#write(added);
    this.#isLineOpen = !added.endsWith("\n");
  }

  #card(part: ToolPart): void {
    if (this.#calls.has(part.toolCallId)) return;
    this.#calls.add(part.toolCallId);
    this.endLine();
    this.#write(`${toolCard(part)}\n`);
  }
}
