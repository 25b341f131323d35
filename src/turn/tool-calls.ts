// The tool calls of a turn: what an attempt records of them, and what becomes of them when the turn is over. Pure: from
// what the model call tells to the records that are written, and from a message to the message that is stored.
import type { LanguageModel, UIMessage } from "ai";
import { sha256 } from "../host/blobs.ts";
import type {
  ApprovalAsked,
  CallExecutor,
  CallOutcome,
  CallSettled,
  CallStarted,
  ModelCalled
} from "../journal/records.ts";
import {
  asMessagePart,
  isToolPart,
  toolErrorText,
  toolNameOf,
  type FinishedToolCall,
  type OfferedTools,
  type ToolCallToRun,
  type ToolDecision,
  type ToolPart
} from "../model/index.ts";
import { cutOffPart, openCallOf } from "../session/open-calls.ts";
import { approvalId, callId, turnId } from "../util/ids.ts";
import { canonicalJson, type Json } from "../util/json.ts";

/** Which attempt writes, and when. */
export interface Writing {
  readonly turnId: string;
  readonly attempt: number;
  readonly at: number;
}

/** Should the process die in the tool, this says that it may have run. */
export function callStarted(writing: Writing, call: ToolCallToRun, decision: ToolDecision | void): CallStarted {
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
  return { ...ofTurn(writing), type: "call-settled", callId: callId(call.toolCallId), outcome };
}

/** A call that a client will answer. */
export function clientCallStarted(writing: Writing, part: ToolPart, step: number): CallStarted {
  return startedOf(writing, part, { step, executor: "client" });
}

/** A call that must not run before it is approved. */
export function approvalAsked(writing: Writing, part: ToolPart, step: number): [CallStarted, ApprovalAsked] {
  const call = startedOf(writing, part, { step, executor: "server" });
  const { approval } = part;
  const asked: ApprovalAsked = {
    ...ofTurn(writing),
    type: "approval-asked",
    callId: call.callId,
    approvalId: approvalId(approval?.id ?? part.toolCallId),
    descriptor: jsonOf(approval?.descriptor)
  };
  return [call, asked];
}

/** Names of tools that a record of a model call holds. */
const MAX_NAMED_TOOLS = 100;

interface AskedModel {
  readonly model: LanguageModel;
  readonly system: unknown;
  readonly tools: object;
  readonly offered?: OfferedTools;
  /** Of several. */
  readonly choice?: { readonly name: string } | undefined;
  readonly beside?: string;
}

/** What is asked of which model, without a word of it. */
export function modelCalled(
  writing: Writing,
  { model, system, tools, offered, choice, beside }: AskedModel
): ModelCalled {
  const all = Object.keys(tools).sort();
  const names = offered === undefined ? all : [...offered.names()].sort();
  return {
    ...ofTurn(writing),
    type: "model-called",
    // What getModel() returns may be anything; the call itself says what is wrong with it.
    modelId: typeof model === "string" ? model : String((model as { modelId?: unknown } | null | undefined)?.modelId),
    tools: names.slice(0, MAX_NAMED_TOOLS),
    // What was offered may be found in the messages.
    prompt: promptFingerprint(system, all),
    ...(choice && { chosen: choice.name }),
    ...(beside !== undefined && { beside })
  };
}

/** The same text for the same system prompt and the same names of tools, which are sorted. */
export function promptFingerprint(system: unknown, sortedNames: readonly string[]): string {
  return sha256(canonicalJson([jsonOf(system), [...sortedNames]])).slice(0, 16);
}

export function toolPartOf(message: UIMessage, toolCallId: string): ToolPart | undefined {
  const part = message.parts.findLast((one) => isToolPart(one) && one.toolCallId === toolCallId);
  return part && isToolPart(part) ? part : undefined;
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
  return { ...ofTurn(writing), type: "call-started", callId: callId(toolCallId), ...call, input: jsonOf(input) };
}

function ofTurn({ turnId: id, attempt, at }: Writing) {
  return { turnId: turnId(id), attempt, at };
}

type MessagePart = UIMessage["parts"][number];

export interface ClosingCalls {
  /** Allowed calls that the turn was to run. Others belong to a continuation that is still to come. */
  readonly runs: ReadonlySet<string>;
  /** Calls whose execution had begun. */
  readonly started: ReadonlySet<string>;
  /** What stands for a call that was cut off. */
  readonly repairPart: (part: MessagePart) => MessagePart;
}

/**
 * The message of a turn that is over. Calls that wait for a person, a client or a provider stay open. Every other one was
 * cut off, and is settled as that: a stored answer holds no open call of the server's, so no client can answer one, and no
 * later turn runs it. The same object if no call was cut off.
 */
export function closeCalls(message: UIMessage, closing: ClosingCalls): UIMessage {
  if (!message.parts.some((part) => isToolPart(part) && isCutOff(part, closing))) return message;
  return {
    ...message,
    parts: message.parts.map((part) => (isToolPart(part) && isCutOff(part, closing) ? closed(part, closing) : part))
  };
}

function isCutOff(part: ToolPart, { runs }: ClosingCalls): boolean {
  // What a provider runs it may still finish in a later answer, also when it was allowed.
  if (part.providerExecuted === true) return false;
  const open = openCallOf(part);
  return open === "cut-off" || (open === "allowed" && runs.has(part.toolCallId));
}

function closed(part: ToolPart, { started, repairPart }: ClosingCalls): MessagePart {
  const hasStarted = started.has(part.toolCallId);
  // By its state, an allowed call has not started.
  const isRun = hasStarted && part.state === "approval-responded";
  return cutOffPart(asMessagePart(isRun ? { ...part, state: "input-available" } : part), { hasStarted, repairPart });
}
