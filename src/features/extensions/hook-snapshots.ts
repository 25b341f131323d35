// What the hooks of extensions are given, out of what the class's hooks are given: a few fields each, as plain JSON.
import { snapshotOf } from "./snapshot.ts";

interface CallEvent {
  readonly toolName: string;
  readonly toolCallId: string;
  readonly input: unknown;
  readonly dynamic?: boolean | undefined;
}

interface FinishedCallEvent extends CallEvent {
  readonly stepNumber: number;
  readonly durationMs: number;
  readonly success: boolean;
  readonly output?: unknown;
  readonly error?: unknown;
}

interface StepEvent {
  readonly stepNumber?: number;
  readonly finishReason: unknown;
  readonly text: string;
  readonly reasoningText: string | undefined;
  readonly toolCalls: readonly unknown[];
  readonly toolResults: readonly unknown[];
  readonly usage: object;
  readonly providerMetadata: unknown;
}

/** A turn before it runs. */
export interface TurnEvent {
  readonly system: unknown;
  readonly toolNames: readonly string[];
  readonly messageCount: number;
  readonly continuation: boolean;
  readonly body?: unknown;
  readonly modelId: string;
}

export function turnSnapshot(event: TurnEvent): Record<string, unknown> {
  const { system, toolNames, messageCount, continuation, modelId, body } = event;
  // The names first: a long prompt must not cut them.
  return snapshotOf({ toolNames, messageCount, continuation, modelId, system, body });
}

/** The step of a call is not known before it runs. */
export function callSnapshot({ toolName, toolCallId, input, dynamic }: CallEvent): Record<string, unknown> {
  return snapshotOf({ toolName, toolCallId, dynamic: dynamic || undefined, input });
}

export function finishedCallSnapshot(event: FinishedCallEvent): Record<string, unknown> {
  const { toolName, toolCallId, input, dynamic, stepNumber, durationMs, success, output, error } = event;
  const outcome = success ? { output } : { error };
  const details = { toolName, toolCallId, stepNumber, durationMs, success, dynamic: dynamic || undefined };
  return snapshotOf({ ...details, ...outcome, input });
}

export function stepSnapshot(event: StepEvent): Record<string, unknown> {
  const { stepNumber, finishReason, text, reasoningText, toolCalls, toolResults, usage, providerMetadata } = event;
  const counted = (name: string): unknown => Reflect.get(usage, name);
  return snapshotOf({
    stepNumber,
    finishReason,
    toolCallCount: toolCalls.length,
    toolResultCount: toolResults.length,
    usage: {
      inputTokens: counted("inputTokens"),
      outputTokens: counted("outputTokens"),
      totalTokens: counted("totalTokens"),
      reasoningTokens: counted("reasoningTokens"),
      cachedInputTokens: counted("cachedInputTokens")
    },
    text,
    reasoningText,
    providerMetadata
  });
}

export function chunkSnapshot(chunk: object): Record<string, unknown> {
  const read = (name: string): unknown => Reflect.get(chunk, name);
  return snapshotOf({
    type: read("type"),
    text: read("text"),
    toolName: read("toolName"),
    toolCallId: read("toolCallId") ?? undefined
  });
}
