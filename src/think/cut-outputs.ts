// The tool outputs of a turn's history that the model is shown only in part: because they are old, or because they did
// not fit into a row. Each says where it was cut under which id the whole can be read, and can be read while the turn
// lasts. Nothing is stored here: the whole values are in the stored messages.
import type { UIMessage } from "ai";
import { asMessagePart, isToolPart, truncateOldMessages, type TruncateOptions } from "../model/index.ts";
import { cutCallIds } from "../session/row-limit.ts";
import { nameTheRest, truncateToolOutput, truncateWithRest } from "../util/truncate-value.ts";
import { pageOf, whereTheRestIs, type ResultReader } from "./read-result.ts";

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
