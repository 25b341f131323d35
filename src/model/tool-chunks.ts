// How chunks move tool parts. States only go forward: streaming input, input, approval asked, approval answered,
// settled. A chunk that a provider or a replay sends again for a call that is past it changes nothing, a settled part
// is never decided twice, and a chunk about a call this message does not hold is ignored. Pure.
import type { UIMessageChunk } from "ai";
import {
  asMessagePart,
  isApprovedToolPart,
  isSettledToolPart,
  isToolPart,
  toolInputObject,
  type MessagePart,
  type ToolPart
} from "./tool-part.ts";

export type ToolChunk = Extract<UIMessageChunk, { type: `tool-${string}` }> & {
  readonly approvalDescriptor?: unknown;
  readonly clientExecuted?: boolean;
};

export function isToolChunk(chunk: { readonly type: string }): chunk is ToolChunk {
  return chunk.type.startsWith("tool-");
}

/** The parts after the chunk; the same array if it changes nothing. */
export function foldToolChunk(parts: MessagePart[], chunk: ToolChunk): MessagePart[] {
  const index = parts.findLastIndex((part) => isToolPart(part) && concerns(part, chunk));
  const found = parts[index];
  const before = found !== undefined && isToolPart(found) ? found : undefined;
  const after = before === undefined ? opened(chunk) : advanced(before, chunk);
  if (after === undefined || after === before) return parts;
  const part = asMessagePart(definedFields(after));
  return before === undefined ? [...parts, part] : parts.with(index, part);
}

function concerns(part: ToolPart, chunk: ToolChunk): boolean {
  if (chunk.type === "tool-approval-response") return part.approval?.id === chunk.approvalId;
  return part.toolCallId === chunk.toolCallId;
}

type InputChunk = Extract<ToolChunk, { type: "tool-input-start" | "tool-input-available" | "tool-input-error" }>;

/** A part for a call not seen before; only chunks that name the tool can open one. */
function opened(chunk: ToolChunk): ToolPart | undefined {
  switch (chunk.type) {
    case "tool-input-start":
      return { ...newPart(chunk), inputEncoding: chunk.inputEncoding };
    case "tool-input-available":
    case "tool-input-error":
      return advanced(newPart(chunk), chunk);
    default:
      return undefined;
  }
}

function newPart(chunk: InputChunk): ToolPart {
  return {
    type: chunk.dynamic === true ? "dynamic-tool" : `tool-${chunk.toolName}`,
    toolCallId: chunk.toolCallId,
    toolName: chunk.toolName,
    state: "input-streaming",
    ...callFields(chunk)
  };
}

/** What a chunk about the input says about the call. */
function callFields(chunk: InputChunk): Partial<ToolPart> {
  return definedFields({
    title: chunk.title,
    toolMetadata: chunk.toolMetadata,
    providerExecuted: chunk.providerExecuted,
    clientExecuted: chunk.clientExecuted,
    callProviderMetadata: chunk.type === "tool-input-error" ? undefined : chunk.providerMetadata
  });
}

function advanced(part: ToolPart, chunk: ToolChunk): ToolPart {
  switch (chunk.type) {
    case "tool-input-start":
      return part;
    case "tool-input-delta":
      if (part.state !== "input-streaming") return part;
      return { ...part, rawInput: `${typeof part.rawInput === "string" ? part.rawInput : ""}${chunk.inputTextDelta}` };
    case "tool-input-available":
      if (part.state !== "input-streaming") return part;
      return { ...withInput(part, chunk), state: "input-available" };
    case "tool-input-error":
      if (isSettledToolPart(part)) return part;
      return {
        ...withInput(part, chunk),
        // What the model really wrote, for users; the model gets an object back.
        rawInput: chunk.input,
        state: "output-error",
        errorText: chunk.errorText,
        resultProviderMetadata: chunk.providerMetadata
      };
    case "tool-approval-request":
    case "tool-approval-response":
      return decided(part, chunk);
    case "tool-output-denied":
      // The user said yes: a denial that a replay brings up afterwards must not overrule it.
      return isSettledToolPart(part) || isApprovedToolPart(part) ? part : { ...part, state: "output-denied" };
    case "tool-output-available":
    case "tool-output-error":
      return isSettledToolPart(part) ? part : settled(part, chunk);
    default:
      return part;
  }
}

function withInput(part: ToolPart, chunk: Exclude<InputChunk, { type: "tool-input-start" }>): ToolPart {
  const { rawInput: _text, inputEncoding: _encoding, ...rest } = part;
  return { ...rest, ...callFields(chunk), input: toolInputObject(chunk.input) };
}

type ApprovalChunk = Extract<ToolChunk, { type: "tool-approval-request" | "tool-approval-response" }>;

function decided(part: ToolPart, chunk: ApprovalChunk): ToolPart {
  if (isSettledToolPart(part) || part.state === "approval-responded") return part;
  if (chunk.type === "tool-approval-response") {
    const approval = {
      ...part.approval,
      ...definedFields({ id: chunk.approvalId, approved: chunk.approved, reason: chunk.reason })
    };
    const executed = definedFields({
      providerExecuted: chunk.providerExecuted,
      callProviderMetadata: chunk.providerMetadata
    });
    return { ...part, ...executed, state: "approval-responded", approval: { ...approval, id: chunk.approvalId } };
  }
  const details = definedFields({
    descriptor: chunk.approvalDescriptor,
    inputSchemaInput: chunk.inputSchemaInput,
    requestReason: chunk.reason,
    isAutomatic: chunk.isAutomatic === true ? true : undefined,
    signature: chunk.signature
  });
  return { ...part, state: "approval-requested", approval: { id: chunk.approvalId, ...details } };
}

type OutcomeChunk = Extract<ToolChunk, { type: "tool-output-available" | "tool-output-error" }>;

function settled(part: ToolPart, chunk: OutcomeChunk): ToolPart {
  const { output: _earlier, preliminary: _preliminary, rawInput: _text, inputEncoding: _encoding, ...rest } = part;
  const shared = {
    ...rest,
    input: toolInputObject(part.input ?? part.rawInput),
    ...definedFields({
      providerExecuted: chunk.providerExecuted,
      resultProviderMetadata: chunk.providerMetadata,
      toolMetadata: chunk.toolMetadata
    })
  };
  if (chunk.type === "tool-output-error") return { ...shared, state: "output-error", errorText: chunk.errorText };
  return {
    ...shared,
    state: "output-available",
    output: chunk.output,
    preliminary: chunk.preliminary,
    approvalDescriptor: chunk.approvalDescriptor
  };
}

/** Absent and undefined must be the same: stored messages are JSON. */
function definedFields<T extends object>(value: T): T {
  for (const field of Object.values(value)) {
    if (field === undefined) {
      // Leaving out fields that hold undefined does not change what the type says about the others.
      return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as T;
    }
  }
  return value;
}
