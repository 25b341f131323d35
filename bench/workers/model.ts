// A language model inside the worker that streams what a script in the newest user message says. No network and no
// thought: what a benchmark measures is everything around it. The two versions of the specification differ in nothing
// this model uses, so each contender gets the one its AI SDK takes without an adapter.
import { deltaOf, readScript, type Script } from "./script.ts";

/** The parts that both versions know, as far as they are used here. */
type StreamPart =
  | { type: "stream-start"; warnings: [] }
  | { type: "text-start" | "text-end" | "tool-input-end"; id: string }
  | { type: "text-delta" | "tool-input-delta"; id: string; delta: string }
  | { type: "tool-input-start"; id: string; toolName: string }
  | { type: "tool-call"; toolCallId: string; toolName: string; input: string }
  | { type: "finish"; finishReason: { unified: "stop" | "tool-calls"; raw: undefined }; usage: typeof USAGE };

/** What the prompts of both versions have in common. */
interface PromptMessage {
  role: string;
  content: string | readonly { type: string; text?: string }[];
}

interface CallOptions {
  prompt: readonly PromptMessage[];
  abortSignal?: AbortSignal;
}

const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined }
};

/** How often a held answer looks whether it was cancelled. */
const HOLD_TICK_MS = 25;

/** For `ai` 6. */
export function scriptedModelV3() {
  return { specificationVersion: "v3" as const, ...scripted };
}

/** For `ai` 7. */
export function scriptedModelV4() {
  return { specificationVersion: "v4" as const, ...scripted };
}

const scripted = {
  provider: "bench",
  modelId: "scripted",
  supportedUrls: {},
  async doStream({ prompt, abortSignal }: CallOptions) {
    const parts = partsOf(prompt, abortSignal);
    return {
      stream: new ReadableStream<StreamPart>({
        async pull(controller) {
          const { value, done } = await parts.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        async cancel() {
          await parts.return();
        }
      })
    };
  },
  doGenerate(): never {
    throw new Error("The benchmarks only stream.");
  }
};

async function* partsOf(
  prompt: readonly PromptMessage[],
  signal: AbortSignal | undefined
): AsyncGenerator<StreamPart, void> {
  const asked = prompt.findLastIndex(({ role }) => role === "user");
  const script = readScript(textOf(prompt[asked]));
  const stepsDone = prompt.slice(asked).filter(({ role }) => role === "tool").length;
  yield { type: "stream-start", warnings: [] };
  if (stepsDone < script.callSteps) {
    if (script.stepPauseMs > 0) await scheduler.wait(script.stepPauseMs);
    yield* callParts(script, stepsDone);
    yield { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage: USAGE };
    return;
  }
  yield* textParts(script, signal);
  yield { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage: USAGE };
}

function* callParts(script: Script, step: number): Generator<StreamPart, void> {
  for (let index = 0; index < script.callsPerStep; index += 1) {
    // Calls are found by their id in the whole conversation, so it must not come again in a later turn.
    const id = `call-${crypto.randomUUID()}`;
    const input = JSON.stringify({ text: `echo ${step}-${index}` });
    yield { type: "tool-input-start", id, toolName: "echo" };
    yield { type: "tool-input-delta", id, delta: input };
    yield { type: "tool-input-end", id };
    yield { type: "tool-call", toolCallId: id, toolName: "echo", input };
  }
}

async function* textParts(script: Script, signal: AbortSignal | undefined): AsyncGenerator<StreamPart, void> {
  const delta = deltaOf(script);
  yield { type: "text-start", id: "t" };
  for (let index = 0; index < script.chunks; index += 1) {
    if (script.pauseMs > 0) await scheduler.wait(script.pauseMs);
    yield { type: "text-delta", id: "t", delta };
  }
  if (script.isHeld) await aborted(signal);
  yield { type: "text-end", id: "t" };
}

/** workerd ends a request that waits for nothing from outside, so the wait is made of timers. */
async function aborted(signal: AbortSignal | undefined): Promise<void> {
  while (signal?.aborted !== true) await scheduler.wait(HOLD_TICK_MS);
  throw signal.reason;
}

function textOf(message: PromptMessage | undefined): string {
  if (message === undefined) return "";
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => part.text ?? "").join("");
}
