// Outputs of tools that the model is shown only in part, and the one tool with which it reads on: each kind of output brings
// a reader, and the first that knows the id answers. Only reads; nothing the model writes into its input fails the turn.
import { jsonSchema, type ToolSet, type UIMessage } from "ai";
import { asMessagePart, isToolPart, truncateOldMessages, type TruncateOptions } from "../model/index.ts";
import { cutCallIds } from "../session/row-limit.ts";
import { nameTheRest, truncateToolOutput, truncateWithRest } from "../util/truncate-value.ts";

export const READ_RESULT = "read_result";
/** Characters of one page, and what a call without `length` gets. */
export const MAX_PAGE_CHARS = 20_000;
/** No page is shorter, so that every page has at least one whole character. */
const MIN_PAGE_CHARS = 2;

/** A page of a result that starts at `from`; undefined when it has no result with this id. */
export type ResultReader = (id: string, from: number, length: number) => object | undefined;

export interface TextPage {
  readonly id: string;
  readonly from: number;
  readonly totalChars: number;
  readonly text: string;
  /** Where the next page starts; absent at the end. */
  readonly next?: number;
}

interface ReadInput {
  readonly id: string;
  readonly from?: number;
  readonly length?: number;
}

/** What stands where a result was cut. */
export function whereTheRestIs(id: string): string {
  return `${READ_RESULT} with id "${id}" gives the whole`;
}

/** Nothing without a reader. */
export function readResultTool(readers: readonly ResultReader[]): ToolSet {
  if (readers.length === 0) return {};
  return {
    [READ_RESULT]: {
      description:
        "Reads more of a result that was too long to show. Give the id that stands where it was cut, or its resultId; go on with `next` as `from`.",
      inputSchema: jsonSchema<ReadInput>({
        type: "object",
        properties: {
          id: { type: "string" },
          from: { type: "integer", minimum: 0, description: "Where to start; 0 by default." },
          length: { type: "integer", minimum: 1, maximum: MAX_PAGE_CHARS }
        },
        required: ["id"],
        additionalProperties: false
      }),
      execute: ({ id, from, length }: ReadInput) => {
        for (const read of readers) {
          const page = read(String(id), wholeNumber(from, 0), wholeNumber(length, MAX_PAGE_CHARS));
          if (page !== undefined) return page;
        }
        return { error: { name: "ResultGone", message: "There is no such result, or it is no longer kept." } };
      }
    }
  };
}

/** Part of a value's text, or of its JSON. Pages that follow each other by `next`, joined, are the whole. Pure. */
export function pageOf(id: string, value: unknown, { from, length }: { from: number; length: number }): TextPage {
  const whole = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  const start = wholeCharacterAt(whole, Math.min(from, whole.length));
  const chars = Math.min(Math.max(MIN_PAGE_CHARS, length), MAX_PAGE_CHARS);
  const end = wholeCharacterAt(whole, Math.min(start + chars, whole.length));
  const page = { id, from: start, totalChars: whole.length, text: whole.slice(start, end) };
  return end < whole.length ? { ...page, next: end } : page;
}

/** The place itself, or the one before it where it would part the two halves of a character. */
function wholeCharacterAt(text: string, at: number): number {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(at - 1, at + 1)) ? at - 1 : at;
}

/** A JSON schema of ours is a request to the model, not a check. */
function wholeNumber(value: unknown, otherwise: number): number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.floor(value) : otherwise;
}

/**
 * The tool outputs of a turn's history that the model is shown only in part: because they are old, or because they did not
 * fit into a row. Each says where it was cut under which id the whole can be read, and can be read while the turn lasts.
 * Nothing is stored here: the whole values are in the stored messages.
 */
export class CutOutputs {
  /** By call, the message as it was given. Of calls with the same id the first is the one the model is shown. */
  readonly #messages = new Map<string, UIMessage>();

  get isEmpty(): boolean {
    return this.#messages.size === 0;
  }

  /** The history as the model should see it. `areNamed`: the model has the tool that reads them. */
  show(
    history: readonly UIMessage[],
    { areNamed, ...options }: Omit<TruncateOptions, "cutOutput"> & { readonly areNamed: boolean }
  ): UIMessage[] {
    const shown = truncateOldMessages(history, {
      ...options,
      cutOutput: ({ message, toolCallId, output }, maxChars) => {
        const rest = whereTheRestIs(toolCallId);
        const cut = areNamed ? truncateWithRest(output, maxChars, rest) : truncateToolOutput(output, maxChars);
        if (cut !== output) this.#remember(toolCallId, message);
        return cut;
      }
    });
    return shown.map((message, index) => this.#withRowCuts(message, history[index] ?? message, areNamed));
  }

  /** `stored`: a message as it is stored, uncut. */
  reader(stored: (messageId: string) => UIMessage | undefined): ResultReader {
    return (id, from, length) => {
      const given = this.#messages.get(id);
      if (given === undefined) return undefined;
      const output = outputOf(stored(given.id), id) ?? outputOf(given, id);
      return output && pageOf(id, output[0], { from, length });
    };
  }

  /** What did not fit into the row, and was not cut again here. */
  #withRowCuts(message: UIMessage, given: UIMessage, areNamed: boolean): UIMessage {
    const callIds = new Set(cutCallIds(given));
    if (callIds.size === 0) return message;
    const parts = message.parts.map((part, index) => {
      if (!isToolPart(part) || !callIds.has(part.toolCallId)) return part;
      this.#remember(part.toolCallId, given);
      if (!areNamed || part !== given.parts[index]) return part;
      return asMessagePart({ ...part, output: nameTheRest(part.output, whereTheRestIs(part.toolCallId)) });
    });
    return { ...message, parts };
  }

  #remember(toolCallId: string, message: UIMessage): void {
    if (!this.#messages.has(toolCallId)) this.#messages.set(toolCallId, message);
  }
}

function outputOf(message: UIMessage | undefined, toolCallId: string): [unknown] | undefined {
  const part = message?.parts.find((one) => isToolPart(one) && one.toolCallId === toolCallId);
  return part && isToolPart(part) && part.state === "output-available" ? [part.output] : undefined;
}
