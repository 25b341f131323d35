// `POST …/v1/chat/completions`: an answer as one object, or as the chunks of a stream.
import type { AnswerEnd, AnswerEvents, TokenCounts, WaitingCall } from "./answer.ts";
import { DONE } from "../plain/text-stream.ts";
import { errorBody, eventText, type EventReply, type ObjectReply } from "./reply.ts";

export interface Head {
  readonly id: string;
  readonly model: string;
  /** The time in seconds. */
  readonly created: number;
  /** Whether a stream of completions ends with token counts: its client asked for them. */
  readonly includesUsage: boolean;
}

function encodeCall({ id, name, input }: WaitingCall) {
  return { id, type: "function", function: { name, arguments: input } };
}

const encodeUsage = ({ input, output, total, cached, reasoning }: TokenCounts) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: total,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning }
});

function encodeReason(calls: readonly WaitingCall[]): string {
  return calls.length > 0 ? "tool_calls" : "stop";
}

export class Completion implements AnswerEvents {
  readonly #head: object;
  readonly #reply: ObjectReply;
  #text = "";

  constructor({ id, model, created }: Head, reply: ObjectReply) {
    this.#head = { id: `chatcmpl-${id}`, object: "chat.completion", created, model };
    this.#reply = reply;
  }

  text(delta: string): boolean {
    this.#text += delta;
    return true;
  }

  done({ calls, tokens }: AnswerEnd): void {
    const message = {
      role: "assistant",
      content: this.#text === "" && calls.length > 0 ? null : this.#text,
      refusal: null,
      tool_calls: calls.length > 0 ? calls.map(encodeCall) : undefined
    };
    const choice = { index: 0, message, logprobs: null, finish_reason: encodeReason(calls) };
    this.#reply.send({ ...this.#head, choices: [choice], usage: tokens && encodeUsage(tokens) });
  }

  failed(errorText: string): void {
    this.#reply.fail(errorText);
  }
}

export class CompletionStream implements AnswerEvents {
  readonly #head: object;
  readonly #reply: EventReply;
  readonly #includesUsage: boolean;

  constructor({ id, model, created, includesUsage }: Head, reply: EventReply) {
    this.#head = { id: `chatcmpl-${id}`, object: "chat.completion.chunk", created, model };
    this.#reply = reply;
    this.#includesUsage = includesUsage;
    this.#send({ role: "assistant", content: "" }, null);
  }

  text(delta: string): boolean {
    return this.#send({ content: delta }, null);
  }

  silent(sinceMs: number): boolean {
    return this.#reply.silent(sinceMs);
  }

  done({ calls, tokens }: AnswerEnd): void {
    if (calls.length > 0) {
      this.#send({ tool_calls: calls.map((call, index) => ({ index, ...encodeCall(call) })) }, null);
    }
    this.#send({}, encodeReason(calls));
    if (this.#includesUsage && tokens) {
      this.#reply.event({ ...this.#head, choices: [], usage: encodeUsage(tokens) });
    }
    this.#reply.end(DONE);
  }

  failed(errorText: string): void {
    this.#reply.end(eventText(errorBody(errorText, "server_error")) + DONE);
  }

  #send(delta: object, reason: string | null): boolean {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: reason }];
    return this.#reply.event({ ...this.#head, choices });
  }
}
