// `POST …/v1/responses`: an answer as one object, or as the events that build it.
import type { AnswerEnd, AnswerEvents, TokenCounts, WaitingCall } from "./answer.ts";
import type { Head } from "./completions.ts";
import { eventText, type EventReply, type ObjectReply } from "./reply.ts";

function encodeText(text: string) {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

function encodeMessage(id: string, text: string, status: "in_progress" | "completed") {
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    status,
    content: text === "" ? [] : [encodeText(text)]
  };
}

function encodeCall({ id, name, input }: WaitingCall) {
  return { id: `fc_${id}`, type: "function_call", call_id: id, name, arguments: input, status: "completed" };
}

function encodeResponse(
  { id, model, created }: Head,
  status: "in_progress" | "completed" | "failed",
  output: object[]
) {
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: created,
    status,
    model,
    output,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: null,
    top_p: null,
    tool_choice: "auto",
    tools: []
  };
}

function encodeOutput(head: Head, text: string, calls: readonly WaitingCall[]): object[] {
  return [...(text === "" ? [] : [encodeMessage(head.id, text, "completed")]), ...calls.map(encodeCall)];
}

function encodeCompleted(head: Head, text: string, { calls, tokens }: AnswerEnd) {
  const response = encodeResponse(head, "completed", encodeOutput(head, text, calls));
  return { ...response, usage: tokens && encodeUsage(tokens) };
}

function encodeUsage({ input, output, total, cached, reasoning }: TokenCounts) {
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: total,
    input_tokens_details: { cached_tokens: cached },
    output_tokens_details: { reasoning_tokens: reasoning }
  };
}

export class ResponseObject implements AnswerEvents {
  readonly #head: Head;
  readonly #reply: ObjectReply;
  #text = "";

  constructor(head: Head, reply: ObjectReply) {
    this.#head = head;
    this.#reply = reply;
  }

  text(delta: string): boolean {
    this.#text += delta;
    return true;
  }

  done(end: AnswerEnd): void {
    this.#reply.send(encodeCompleted(this.#head, this.#text, end));
  }

  failed(errorText: string): void {
    this.#reply.fail(errorText);
  }
}

export class ResponseStream implements AnswerEvents {
  readonly #head: Head;
  readonly #reply: EventReply;
  #text = "";
  #sequence = 0;

  constructor(head: Head, reply: EventReply) {
    this.#head = head;
    this.#reply = reply;
    const response = encodeResponse(head, "in_progress", []);
    this.#send("response.created", { response });
    this.#send("response.in_progress", { response });
  }

  text(delta: string): boolean {
    if (this.#text === "") {
      this.#send("response.output_item.added", {
        output_index: 0,
        item: encodeMessage(this.#head.id, "", "in_progress")
      });
      this.#send("response.content_part.added", { ...this.#place, part: encodeText("") });
    }
    this.#text += delta;
    return this.#send("response.output_text.delta", { ...this.#place, delta, logprobs: [] });
  }

  silent(sinceMs: number): boolean {
    return this.#reply.silent(sinceMs);
  }

  done(end: AnswerEnd): void {
    const text = this.#text;
    if (text !== "") {
      this.#send("response.output_text.done", { ...this.#place, text, logprobs: [] });
      this.#send("response.content_part.done", { ...this.#place, part: encodeText(text) });
      this.#send("response.output_item.done", {
        output_index: 0,
        item: encodeMessage(this.#head.id, text, "completed")
      });
    }
    const first = text === "" ? 0 : 1;
    end.calls.forEach((call, index) => this.#call(call, first + index));
    this.#end("response.completed", { response: encodeCompleted(this.#head, text, end) });
  }

  failed(errorText: string): void {
    const error = { code: "server_error", message: errorText };
    this.#end("response.failed", { response: { ...encodeResponse(this.#head, "failed", []), error } });
  }

  #call(call: WaitingCall, index: number): void {
    const item = encodeCall(call);
    const place = { output_index: index, item_id: item.id };
    this.#send("response.output_item.added", {
      output_index: index,
      item: { ...item, arguments: "", status: "in_progress" }
    });
    this.#send("response.function_call_arguments.delta", { ...place, delta: call.input });
    this.#send("response.function_call_arguments.done", { ...place, name: call.name, arguments: call.input });
    this.#send("response.output_item.done", { output_index: index, item });
  }

  get #place() {
    return { output_index: 0, content_index: 0, item_id: `msg_${this.#head.id}` };
  }

  #send(type: string, fields: object): boolean {
    return this.#reply.event(this.#event(type, fields), type);
  }

  #end(type: string, fields: object): void {
    this.#reply.end(eventText(this.#event(type, fields), type));
  }

  #event(type: string, fields: object): object {
    return { type, sequence_number: this.#sequence++, ...fields };
  }
}
