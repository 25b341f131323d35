// A language model that runs inside the worker and streams what `planReply` says. It needs no network, no clock and no
// test process, so it is the same before and after workerd is killed.
import type { LanguageModel } from "ai";
import type { Gate } from "./gate.ts";
import { type Plan, planReply } from "./reply-plan.ts";

type ModelV4 = Extract<LanguageModel, { specificationVersion: "v4" }>;
type CallOptions = Parameters<ModelV4["doStream"]>[0];
type StreamResult = Awaited<ReturnType<ModelV4["doStream"]>>;
type StreamPart = StreamResult["stream"] extends ReadableStream<infer Part> ? Part : never;

export class PlannedModel implements ModelV4 {
  readonly specificationVersion = "v4";
  readonly provider = "planned";
  readonly modelId = "planned-model";
  readonly supportedUrls = {};
  readonly #gate: Gate;
  readonly #nextAnswer: () => number;

  constructor(gate: Gate, nextAnswer: () => number) {
    this.#gate = gate;
    this.#nextAnswer = nextAnswer;
  }

  async doStream({ prompt, abortSignal }: CallOptions): Promise<StreamResult> {
    const plan = planReply(prompt, this.#nextAnswer());
    if (plan.refusal !== undefined) throw new Error(plan.refusal);
    const parts = this.#parts(plan, abortSignal);
    return {
      stream: new ReadableStream<StreamPart>({
        async pull(controller) {
          const { value, done } = await parts.next();
          if (done) controller.close();
          else controller.enqueue(value);
        }
      })
    };
  }

  doGenerate(): never {
    throw new Error("The browser tests only stream.");
  }

  async *#parts(plan: Plan, signal: AbortSignal | undefined): AsyncGenerator<StreamPart, void> {
    yield { type: "stream-start", warnings: [] };
    if (plan.reasoning !== undefined) {
      yield { type: "reasoning-start", id: "r" };
      yield { type: "reasoning-delta", id: "r", delta: plan.reasoning };
      yield { type: "reasoning-end", id: "r" };
    }
    yield* this.#words(plan, signal);
    if (plan.failure !== undefined) {
      yield { type: "error", error: new Error(plan.failure) };
      return;
    }
    for (const { toolName, input } of plan.calls ?? []) {
      const text = JSON.stringify(input);
      const id = `call-${crypto.randomUUID()}`;
      yield { type: "tool-input-start", id, toolName };
      yield { type: "tool-input-delta", id, delta: text };
      yield { type: "tool-input-end", id };
      yield { type: "tool-call", toolCallId: id, toolName, input: text };
    }
    const reason = plan.calls === undefined ? "stop" : "tool-calls";
    yield { type: "finish", finishReason: { unified: reason, raw: undefined }, usage: USAGE };
  }

  async *#words({ words, isGated }: Plan, signal: AbortSignal | undefined): AsyncGenerator<StreamPart, void> {
    if (words.length === 0) return;
    yield { type: "text-start", id: "t" };
    for (const delta of words) {
      if (isGated) await this.#gate.pass(signal);
      yield { type: "text-delta", id: "t", delta };
    }
    // Without this the last word and the end arrive together, and "mid-stream" could not include the last word.
    if (isGated) await this.#gate.pass(signal);
    yield { type: "text-end", id: "t" };
  }
}

const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined }
};
