// A past turn again, with changes, in a fork that touches nothing: the model is called, its tools are not. A call that the
// original made too, with the same input, gets the recorded result or the one given in its place; any other call ends
// the run there. Nothing is stored, no hook is called, no client is notified.
import { jsonSchema, type LanguageModel, type ModelMessage, type ToolSet, type UIMessage } from "ai";
import { happensWithin } from "../../host/deadline.ts";
import type { Clock } from "../../host/ports.ts";
import type { StepUsage } from "../../journal/records.ts";
import {
  callModel,
  isToolPart,
  toolNameOf,
  type CallMeter,
  type ModelCall,
  type ModelCallOutcome,
  type ModelUsage,
  type ResolveModel,
  type Sdk,
  type ToolPart
} from "../../model/index.ts";
import { errorMessage } from "../../util/errors.ts";
import { canonicalJson, type Json } from "../../util/json.ts";
import { knownCostOf, type ModelPrices } from "./cost.ts";
import { shownText } from "./shown-text.ts";
import type { TriedCall, TriedRun, TryRequest } from "./views.ts";

const MAX_TRIED_STEPS = 10;
const TRY_TIMEOUT_MS = 120_000;

export interface TryInput {
  readonly sdk: Sdk;
  readonly model: LanguageModel;
  readonly resolveModel: ResolveModel;
  readonly meter: CallMeter | undefined;
  readonly system: string;
  readonly messages: ModelMessage[];
  readonly tools: ToolSet;
  readonly results: RecordedResults;
  readonly prices: ModelPrices;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly signal: AbortSignal;
}

export async function runFork(input: TryInput): Promise<TriedRun> {
  const { sdk, model, resolveModel, meter, system, messages, results, clock, signal } = input;
  const calls: TriedCall[] = [];
  const startedAt = clock.now();
  const limit = new AbortController();
  const call = callModel(sdk, {
    model,
    resolveModel,
    meter,
    system,
    messages,
    tools: answeringTools(input.tools, results, calls),
    maxSteps: MAX_TRIED_STEPS,
    stopWhen: () => calls.some(({ source }) => source === "not-run"),
    signal: AbortSignal.any([signal, limit.signal])
  });
  const ended = endOf(call);
  if (!(await happensWithin(TRY_TIMEOUT_MS, ended, clock))) limit.abort();
  const { text, outcome } = await ended;
  const usage = usageOf(outcome.totalUsage);
  return {
    status: outcome.status,
    modelId: modelName(model),
    text: shownText(text),
    usage,
    cost: knownCostOf(input.prices, modelName(model), usage),
    steps: outcome.steps.length,
    durationMs: clock.now() - startedAt,
    calls,
    error: limit.signal.aborted ? TOO_LONG : outcome.status === "failed" ? errorMessage(outcome.error) : null
  };
}

async function endOf({ chunks, outcome }: ModelCall): Promise<{ text: string; outcome: ModelCallOutcome }> {
  let text = "";
  for await (const chunk of chunks) if (chunk.type === "text-delta") text += chunk.delta;
  return { text, outcome: await outcome };
}

const TOO_LONG = `Stopped after ${TRY_TIMEOUT_MS / 1000} seconds.`;

/** What the original's calls answered, by name and input; each in turn when the same call was made more than once. */
export class RecordedResults {
  readonly #byCall = new Map<string, { readonly output: unknown; readonly isChanged: boolean }[]>();

  constructor(parts: readonly ToolPart[], changed: TryRequest["toolResults"] = {}) {
    for (const part of parts) {
      const isChanged = Object.hasOwn(changed, part.toolCallId);
      const output = isChanged ? changed[part.toolCallId] : (part.errorText ?? part.output);
      if (output === undefined) continue;
      const key = keyOf(toolNameOf(part), part.input);
      this.#byCall.set(key, [...(this.#byCall.get(key) ?? []), { output, isChanged }]);
    }
  }

  take(toolName: string, input: unknown): { readonly output: unknown; readonly isChanged: boolean } | undefined {
    const known = this.#byCall.get(keyOf(toolName, input));
    return known && known.length > 1 ? known.shift() : known?.[0];
  }
}

function keyOf(toolName: string, input: unknown): string {
  // Inputs are JSON: the model wrote them.
  return `${toolName} ${canonicalJson((input ?? null) as Json)}`;
}

/** The same names, descriptions and schemas; nothing of theirs runs. Tools that a provider runs are left out. */
function answeringTools(tools: ToolSet, results: RecordedResults, calls: TriedCall[]): ToolSet {
  const shown = Object.entries(tools).filter(([, tool]) => tool.type !== "provider");
  return Object.fromEntries(
    shown.map(([name, { description, inputSchema }]) => [
      name,
      {
        description: typeof description === "string" ? description : undefined,
        inputSchema: inputSchema ?? jsonSchema({ type: "object" }),
        execute: (input: unknown) => {
          const known = results.take(name, input);
          const source = known === undefined ? "not-run" : known.isChanged ? "changed" : "recorded";
          const output = known && shownText(known.output);
          calls.push({ toolName: name, input: shownText(input), output: output ?? null, source });
          return known === undefined ? NOT_RUN : known.output;
        }
      }
    ])
  );
}

const NOT_RUN = "Not run: this is a trial, and the original turn has no result for this call.";

/** The history with the changes that concern it. */
export function changedHistory(history: readonly UIMessage[], { without = [], question }: TryRequest): UIMessage[] {
  const left = history.filter(({ id }) => !without.includes(id));
  const last = left.findLastIndex(({ role }) => role === "user");
  if (question === undefined || last < 0) return left;
  return left.map((message, index) => {
    if (index !== last) return message;
    const others = message.parts.filter(({ type }) => type !== "text");
    return { ...message, parts: [{ type: "text", text: question }, ...others] };
  });
}

export function callPartsOf(message: UIMessage | undefined): ToolPart[] {
  return (message?.parts ?? []).flatMap((part) => (isToolPart(part) ? [part] : []));
}

export function modelName(model: LanguageModel): string | null {
  if (typeof model === "string") return model;
  const id: unknown = Reflect.get(model, "modelId");
  return typeof id === "string" ? id : null;
}

function usageOf({
  inputTokens,
  outputTokens,
  totalTokens,
  reasoningTokens,
  cachedInputTokens
}: ModelUsage): StepUsage {
  return {
    inputTokens: inputTokens ?? null,
    outputTokens: outputTokens ?? null,
    totalTokens: totalTokens ?? null,
    reasoningTokens: reasoningTokens ?? null,
    cachedInputTokens: cachedInputTokens ?? null
  };
}
