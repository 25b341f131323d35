// What an attempt records of tool calls: that one may run now, what came of it, and what is asked of people. Pure: from
// what the model call tells to the facts that are written.
import type { LanguageModel, UIMessage } from "ai";
import { createHash } from "node:crypto";
import type {
  ApprovalAsked,
  CallExecutor,
  CallOutcome,
  CallSettled,
  CallStarted,
  ModelCalled
} from "../journal/records.ts";
import {
  isToolPart,
  toolErrorText,
  toolNameOf,
  type FinishedToolCall,
  type PendingToolCall,
  type ToolDecision,
  type ToolPart
} from "../model/index.ts";
import { approvalId, callId, turnId } from "../util/ids.ts";
import { canonicalJson, type Json } from "../util/json.ts";

/** Which attempt writes, and when. */
export interface Writing {
  readonly turnId: string;
  readonly attempt: number;
  readonly at: number;
}

/** Should the process die in the tool, this says that it may have run. */
export function callStarted(writing: Writing, call: PendingToolCall, decision: ToolDecision | void): CallStarted {
  const executed = decision?.action === "allow" && decision.input !== undefined ? decision.input : call.input;
  return started(writing, {
    toolCallId: call.toolCallId,
    toolName: call.toolName,
    dynamic: call.dynamic ?? false,
    step: call.stepNumber,
    executor: "server",
    input: executed
  });
}

export function callSettled(writing: Writing, call: FinishedToolCall): CallSettled {
  const outcome: CallOutcome = call.success
    ? { kind: "output", output: jsonOf(call.output) }
    : { kind: "error", errorText: toolErrorText(call.error) };
  return { ...fact(writing), type: "call-settled", callId: callId(call.toolCallId), outcome, autoContinue: false };
}

/** A call that a client will answer. */
export function clientCallStarted(writing: Writing, part: ToolPart, step: number): CallStarted {
  return startedOf(writing, part, { step, executor: "client" });
}

/** A call that must not run before somebody said yes. */
export function approvalAsked(writing: Writing, part: ToolPart, step: number): [CallStarted, ApprovalAsked] {
  const call = startedOf(writing, part, { step, executor: "server" });
  const { approval } = part;
  const asked: ApprovalAsked = {
    ...fact(writing),
    type: "approval-asked",
    callId: call.callId,
    approvalId: approvalId(approval?.id ?? part.toolCallId),
    inputHash: call.inputHash,
    descriptor: jsonOf(approval?.descriptor),
    expiresAt: null
  };
  return [call, asked];
}

/** Names of tools that a record of a model call holds. */
const MAX_NAMED_TOOLS = 100;

/** What is asked of which model, without a word of it. */
export function modelCalled(
  writing: Writing,
  { model, system, tools }: { readonly model: LanguageModel; readonly system: unknown; readonly tools: object }
): ModelCalled {
  const names = Object.keys(tools).sort();
  return {
    ...fact(writing),
    type: "model-called",
    // What getModel() returns may be anything; the call itself says what is wrong with it.
    modelId: typeof model === "string" ? model : String((model as { modelId?: unknown } | null | undefined)?.modelId),
    tools: names.slice(0, MAX_NAMED_TOOLS),
    prompt: inputHash([jsonOf(system), names]).slice(0, 16)
  };
}

export function toolPartOf(message: UIMessage, toolCallId: string): ToolPart | undefined {
  const part = message.parts.findLast((one) => isToolPart(one) && one.toolCallId === toolCallId);
  return part && isToolPart(part) ? part : undefined;
}

/** Identifies an input whatever the order of its keys. */
export function inputHash(input: Json): string {
  return createHash("sha256").update(canonicalJson(input)).digest("base64url");
}

/** What a record can hold of a value: undefined and what JSON cannot say become null. */
export function jsonOf(value: unknown): Json {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? null : (JSON.parse(text) as Json);
  } catch {
    // Circular values and big integers: that the call ended is what the record is for.
    return null;
  }
}

interface StartedCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly dynamic: boolean;
  readonly step: number;
  readonly executor: CallExecutor;
  readonly input: unknown;
}

function startedOf(writing: Writing, part: ToolPart, call: Pick<StartedCall, "step" | "executor">): CallStarted {
  const { toolCallId, input } = part;
  const dynamic = part.type === "dynamic-tool";
  return started(writing, { ...call, toolCallId, toolName: toolNameOf(part), dynamic, input });
}

function started(writing: Writing, { toolCallId, input, ...call }: StartedCall): CallStarted {
  const json = jsonOf(input);
  return {
    ...fact(writing),
    type: "call-started",
    callId: callId(toolCallId),
    ...call,
    input: json,
    inputHash: inputHash(json)
  };
}

function fact({ turnId: id, attempt, at }: Writing) {
  return { turnId: turnId(id), attempt, at };
}
