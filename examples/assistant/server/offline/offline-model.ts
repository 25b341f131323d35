// The built-in model: a script that needs no key and no network. It has no memory and decides from the prompt alone, so
// after a crash it sends exactly what is missing. It streams word by word, at a pace that people can watch.
import type { GenerateResult, Model, ModelCall, StreamPart } from "../language-model.ts";
import { nextStep } from "./answer.ts";
import { failureOnPurpose } from "./failure-on-purpose.ts";
import type { Step } from "./plan.ts";

export interface OfflineModelInit {
  /** Between two pieces. */
  readonly pause: (signal: AbortSignal | undefined) => Promise<void>;
}

/** What most tokenizers come to in English. */
const CHARACTERS_PER_TOKEN = 4;

export function offlineModel({ pause }: OfflineModelInit): Model {
  return {
    specificationVersion: "v4",
    provider: "offline",
    modelId: "built-in",
    supportedUrls: {},
    async doStream(call) {
      const step = nextStep(call);
      if (isFailingAtOnce(step)) throw failureOnPurpose();
      return { stream: streamOf(parts(step, call, pause)) };
    },
    async doGenerate(call) {
      const step = nextStep(call);
      if (step.fails) throw failureOnPurpose();
      return generated(step, call);
    }
  };
}

function isFailingAtOnce({ fails, text, reasoning }: Step): boolean {
  return fails === true && text === undefined && reasoning === undefined;
}

async function* parts(step: Step, call: ModelCall, pause: OfflineModelInit["pause"]): AsyncGenerator<StreamPart> {
  const { abortSignal: signal } = call;
  yield { type: "stream-start", warnings: [] };
  for (const kind of ["reasoning", "text"] as const) {
    const words = step[kind];
    if (words === undefined) continue;
    yield { type: `${kind}-start`, id: kind };
    for (const delta of pieces(words)) {
      await pause(signal);
      signal?.throwIfAborted();
      yield { type: `${kind}-delta`, id: kind, delta };
    }
    yield { type: `${kind}-end`, id: kind };
  }
  if (step.fails) {
    yield { type: "error", error: failureOnPurpose() };
    return;
  }
  for (const planned of callsOf(step)) yield* callParts(planned);
  yield { type: "finish", finishReason: finishReason(step), usage: usage(step, call) };
}

function callsOf({ call, alongside }: Step): NonNullable<Step["call"]>[] {
  return [call, alongside].filter((planned) => planned !== undefined);
}

function* callParts({ tool, input }: NonNullable<Step["call"]>): Generator<StreamPart> {
  const id = `call-${crypto.randomUUID()}`;
  const text = JSON.stringify(input);
  yield { type: "tool-input-start", id, toolName: tool };
  yield { type: "tool-input-delta", id, delta: text };
  yield { type: "tool-input-end", id };
  yield { type: "tool-call", toolCallId: id, toolName: tool, input: text };
}

function generated(step: Step, call: ModelCall): GenerateResult {
  const { reasoning, text } = step;
  return {
    content: [
      ...(reasoning === undefined ? [] : [{ type: "reasoning" as const, text: reasoning }]),
      ...(text === undefined ? [] : [{ type: "text" as const, text }]),
      ...callsOf(step).flatMap((planned) => [...callParts(planned)].filter((part) => part.type === "tool-call"))
    ],
    finishReason: finishReason(step),
    usage: usage(step, call),
    warnings: []
  };
}

function finishReason({ call }: Step): GenerateResult["finishReason"] {
  return { unified: call === undefined ? "stop" : "tool-calls", raw: undefined };
}

function usage({ reasoning = "", text = "", call }: Step, { prompt }: ModelCall): GenerateResult["usage"] {
  const input = tokens(JSON.stringify(prompt));
  const thought = tokens(reasoning);
  const said = tokens(text + (call === undefined ? "" : JSON.stringify(call)));
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: thought + said, text: said, reasoning: thought }
  };
}

function tokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

/** Words with the space behind them; put together they are the text. */
function pieces(text: string): string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}

function streamOf(from: AsyncGenerator<StreamPart>): ReadableStream<StreamPart> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await from.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await from.return(undefined);
    }
  });
}
