// An answer as clients of the OpenAI API know one: its text, and the calls that wait for the client. What the agent's own
// tools do, reasoning and data are not part of it.
import { isObject, parseJson } from "../../util/json.ts";
import type { PlainSink } from "../plain/reader.ts";

export interface WaitingCall {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly input: string;
}

export interface AnswerEvents {
  text(delta: string): boolean;
  /** The answer is over; these calls are the client's to run. */
  done(calls: readonly WaitingCall[]): void;
  failed(errorText: string): void;
}

/** Reads the chunks of an answer. */
export class AnswerReader implements PlainSink {
  readonly #events: AnswerEvents;
  readonly #calls = new Map<string, WaitingCall>();

  constructor(events: AnswerEvents) {
    this.#events = events;
  }

  chunk(body: string): boolean {
    const parsed = parseJson(body);
    const chunk = parsed.ok && isObject(parsed.value) ? parsed.value : {};
    const { type, delta, toolCallId: id, toolName: name, input } = chunk;
    if (type === "text-delta" && typeof delta === "string") return this.#events.text(delta);
    if (typeof id !== "string") return true;
    if (type === "tool-input-available" && chunk["providerExecuted"] !== true) {
      this.#calls.set(id, { id, name: String(name), input: JSON.stringify(input) ?? "{}" });
    } else if (type !== "tool-input-delta") {
      // It has an outcome, or waits for a person.
      this.#calls.delete(id);
    }
    return true;
  }

  end(): void {
    this.#events.done([...this.#calls.values()]);
  }

  fail(errorText: string): void {
    this.#events.failed(errorText);
  }
}
