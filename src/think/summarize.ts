// Asks the class's own model for the summary of a compaction. It is a model call like any other: it is measured, an id is
// resolved, and of a list the next model is asked where one fails.
import type { LanguageModel } from "ai";
import { isModelList, type ModelOrList } from "../feature/settings.ts";
import { happensWithin } from "../host/deadline.ts";
import type { Clock } from "../host/ports.ts";
import { callModel, type CallMeter, type ModelCall, type ResolveModel, type Sdk } from "../model/index.ts";
import { TurnEndError } from "../turn/errors.ts";

/** For one piece of the history. */
const SUMMARY_MS = 300_000;

export interface SummaryInit {
  readonly sdk: Sdk;
  readonly models: ModelOrList;
  readonly resolveModel: ResolveModel;
  readonly meter: CallMeter | undefined;
  readonly clock: Clock;
}

/** Throws what the last model threw. */
export async function summarize(prompt: string, { models, ...init }: SummaryInit): Promise<string> {
  const [first, ...others] = isModelList(models) ? models : [models];
  let failure: unknown;
  for (const model of [first, ...others]) {
    // What is no model is refused by the call, by name.
    const answer = await ask(prompt, model as LanguageModel, init);
    if ("text" in answer) return answer.text;
    failure = answer.error;
    // A further model would be refused as well.
    if (failure instanceof TurnEndError || (failure as Error).cause instanceof TurnEndError) break;
  }
  throw failure;
}

async function ask(
  prompt: string,
  model: LanguageModel,
  { sdk, resolveModel, meter, clock }: Omit<SummaryInit, "models">
): Promise<{ readonly text: string } | { readonly error: unknown }> {
  const limit = new AbortController();
  const call = callModel(sdk, {
    model,
    messages: [{ role: "user", content: prompt }],
    maxSteps: 1,
    resolveModel,
    meter,
    signal: limit.signal
  });
  const ended = textOf(call);
  if (!(await happensWithin(SUMMARY_MS, ended, clock))) limit.abort(new Error("The summary took too long."));
  const text = await ended;
  const outcome = await call.outcome;
  if (outcome.status === "failed") return { error: outcome.error };
  return outcome.status === "aborted" ? { error: outcome.reason } : { text };
}

async function textOf({ chunks }: ModelCall): Promise<string> {
  let text = "";
  for await (const chunk of chunks) if (chunk.type === "text-delta") text += chunk.delta;
  return text;
}
