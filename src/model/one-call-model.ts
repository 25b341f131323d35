// A model that asks no provider: it makes one call that a person chose, and ends. So a tool that is run by hand passes
// everything that a call of a model passes: permissions, approvals, keys, hooks and records.
import type { ModelObject } from "./sdk.ts";
import { WRAP_EACH } from "./meter.ts";

export interface ChosenCall {
  /** A prompt that holds it is one of a later attempt: the call is not made again. */
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

export const ONE_CALL_PROVIDER = "everthink";
export const ONE_CALL_MODEL = "by-hand";

/** Without a call it ends at once, for an answer that goes on when its call was decided. */
export function oneCallModel(call: ChosenCall | undefined): ModelObject {
  const doStream = async ({ prompt }: { readonly prompt: readonly unknown[] }) => {
    const isNew = call !== undefined && !JSON.stringify(prompt).includes(JSON.stringify(call.toolCallId));
    const parts = [
      { type: "stream-start", warnings: [] },
      ...(isNew ? [callPart(call)] : []),
      { type: "finish", usage: NO_TOKENS, finishReason: { unified: isNew ? "tool-calls" : "stop", raw: undefined } }
    ];
    const start = (controller: ReadableStreamDefaultController<object>) => {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    };
    return { stream: new ReadableStream<object>({ start }) };
  };
  const model = {
    specificationVersion: "v3",
    provider: ONE_CALL_PROVIDER,
    modelId: ONE_CALL_MODEL,
    supportedUrls: { "*/*": [/^/] },
    doStream,
    // Turns stream.
    doGenerate: () => Promise.reject(new TypeError("A tool that is run by hand is streamed.")),
    // Nothing is asked, so nothing is measured, and no limit is in its way.
    [WRAP_EACH]: () => model as object
  };
  // Both majors take a model of this version; its parts are written out, as in the SDK's own types.
  return model as unknown as ModelObject;
}

function callPart({ toolCallId, toolName, input }: ChosenCall): object {
  return { type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) };
}

const NO_TOKENS = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 }
};
