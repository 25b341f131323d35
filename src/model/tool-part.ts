// What a tool part of a message is, seen without the SDK's generics: its name, its state, whether it is settled, and
// its input as an object. The stored form of `tool-<name>` and `dynamic-tool` parts is the same apart from the type.
import type { UIMessage } from "ai";
import { isObject, parseJson } from "../util/json.ts";

export type ToolPartState =
  | "input-streaming"
  | "input-available"
  | "approval-requested"
  | "approval-responded"
  | "output-available"
  | "output-error"
  | "output-denied";

interface ToolApproval {
  readonly id: string;
  readonly approved?: boolean;
  readonly reason?: string;
  readonly descriptor?: unknown;
  readonly [field: string]: unknown;
}

/** A type, not an interface: a part of a stored message may have any other field. */
export type ToolPart = {
  readonly type: `tool-${string}` | "dynamic-tool";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly state: ToolPartState;
  readonly input?: unknown;
  /** The input's text so far while it streams; what the model wrote when it could not be parsed. */
  readonly rawInput?: unknown;
  readonly inputEncoding?: "json" | "text";
  readonly output?: unknown;
  /** What messages of other programs have instead of `output`. */
  readonly result?: unknown;
  readonly errorText?: string;
  readonly preliminary?: boolean;
  readonly providerExecuted?: boolean;
  /** The server has no `execute` for the tool: only a client can answer the call. Written by the server with the call. */
  readonly clientExecuted?: boolean;
  readonly title?: string;
  readonly toolMetadata?: unknown;
  readonly callProviderMetadata?: unknown;
  readonly resultProviderMetadata?: unknown;
  readonly approval?: ToolApproval;
  /** Of a durable pause. Never inside `approval`: the next prompt would ask for approval of a settled call. */
  readonly approvalDescriptor?: unknown;
  /** What was asked about, where a person approved the call with another input, which is then `input`. */
  readonly askedInput?: unknown;
};

export type MessagePart = UIMessage["parts"][number];

export function isToolPart(part: object): part is ToolPart {
  if (!("type" in part) || typeof part.type !== "string") return false;
  if (!("toolCallId" in part) || typeof part.toolCallId !== "string") return false;
  return part.type === "dynamic-tool" || part.type.startsWith("tool-");
}

/** The tool parts of a message by call; of several of one call, the first. */
export function partsByCall({ parts }: { readonly parts: readonly object[] }): ReadonlyMap<string, ToolPart> {
  const byCall = new Map<string, ToolPart>();
  for (const part of parts) if (isToolPart(part) && !byCall.has(part.toolCallId)) byCall.set(part.toolCallId, part);
  return byCall;
}

/** Static parts written by other programs carry their name in the type only. */
export function toolNameOf(part: ToolPart): string {
  if (part.type !== "dynamic-tool") return part.type.slice("tool-".length);
  return typeof part.toolName === "string" ? part.toolName : "";
}

/** True when nothing may change the part any more. A preliminary output is not a result. */
export function isSettledToolPart(part: ToolPart): boolean {
  if (part.state === "output-available") return part.preliminary !== true;
  return part.state === "output-error" || part.state === "output-denied";
}

/** The user has allowed the call, and there is no outcome yet. */
export function isApprovedToolPart(part: ToolPart): boolean {
  return part.state === "approval-responded" && part.approval?.approved !== false;
}

/** A tool part as a part of a message. */
export function asMessagePart(part: ToolPart): MessagePart {
  // The SDK's union ties the optional fields to the state; the fold keeps that relation, its type cannot express it.
  return part as MessagePart;
}

/** Objects stay, JSON text of an object is parsed, anything else is no input: providers refuse other shapes. */
export function toolInputObject(input: unknown): Record<string, unknown> {
  if (isObject(input)) return input;
  if (typeof input !== "string") return {};
  const parsed = parseJson(input);
  return parsed.ok && isObject(parsed.value) ? parsed.value : {};
}
