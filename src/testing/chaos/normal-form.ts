// Messages without what a crash may rightly change: ids the server mints, how often a text was taken up again, where
// steps begin, metadata. Two runs of one conversation have the same normal form.
import type { UIMessage } from "ai";
import { isToolPart, toolNameOf } from "../../model/index.ts";
import type { MessagePart } from "../../model/tool-part.ts";
import { isObject } from "../../util/json.ts";

export type NormalPart =
  | { readonly kind: "text" | "reasoning"; readonly text: string }
  | {
      readonly kind: "tool";
      readonly name: string;
      readonly state: string;
      readonly input: unknown;
      readonly output?: unknown;
      readonly error?: string;
      readonly approved?: boolean;
    }
  | { readonly kind: "other"; readonly type: string; readonly value: unknown };

export interface NormalMessage {
  readonly role: string;
  /** Of messages the client named; the server's own ids differ between runs. */
  readonly id?: string;
  readonly parts: readonly NormalPart[];
}

/** What a call that was cut off is replaced by, in both runs. */
const INTERRUPTED = { state: "interrupted", input: undefined } as const;

export interface NormalFormOptions {
  /** Calls that were running when the process died, and are shown as cut off: their outcome cannot be known. */
  readonly interrupted?: ReadonlySet<string>;
}

export function normalMessages(messages: readonly UIMessage[], options: NormalFormOptions = {}): NormalMessage[] {
  return messages.map(({ role, id, parts }) => ({
    role,
    ...(role === "user" && { id }),
    parts: normalParts(parts, options)
  }));
}

function normalParts(parts: readonly MessagePart[], options: NormalFormOptions): NormalPart[] {
  const normal: NormalPart[] = [];
  for (const part of parts) {
    if (part.type === "step-start") continue;
    const next = normalPart(part, options);
    const last = normal.at(-1);
    if ((next.kind === "text" || next.kind === "reasoning") && last?.kind === next.kind) {
      normal[normal.length - 1] = { kind: next.kind, text: last.text + next.text };
    } else normal.push(next);
  }
  return normal.filter((part) => !("text" in part) || part.text !== "");
}

function normalPart(part: MessagePart, options: NormalFormOptions): NormalPart {
  if (part.type === "text" || part.type === "reasoning") return { kind: part.type, text: part.text };
  if (!isToolPart(part)) return { kind: "other", type: part.type, value: withoutIds(part) };
  const name = toolNameOf(part);
  if (options.interrupted?.has(part.toolCallId)) return { kind: "tool", name, ...INTERRUPTED };
  return {
    kind: "tool",
    name,
    state: part.state,
    input: part.input,
    ...(part.output !== undefined && { output: withoutExecution(part.output) }),
    ...(part.errorText !== undefined && { error: part.errorText }),
    ...(part.approval?.approved !== undefined && { approved: part.approval.approved })
  };
}

/** The ids of executions are minted by the server: that of a parked call is in its output, that of code may be anywhere. */
function withoutExecution(output: unknown): unknown {
  const plain: unknown = JSON.parse(JSON.stringify(output).replaceAll(/"exec_\d{16}_[\w-]+"/g, '"(run)"'));
  if (!isObject(plain) || plain["status"] !== "paused") return plain;
  const { executionId: _minted, ...rest } = plain;
  return rest;
}

function withoutIds(part: MessagePart): unknown {
  const { id: _minted, ...rest } = part as MessagePart & { id?: unknown };
  return rest;
}

/** Puts "cut off" over the same calls in the expected messages: by place, as ids differ between runs. */
export function maskInterrupted(expected: readonly NormalMessage[], actual: readonly NormalMessage[]): NormalMessage[] {
  return expected.map((message, at) => ({
    ...message,
    parts: message.parts.map((part, index) => {
      const other = actual[at]?.parts[index];
      const isCutOff = other?.kind === "tool" && other.state === INTERRUPTED.state;
      return isCutOff && part.kind === "tool" && part.name === other.name ? other : part;
    })
  }));
}

/** The calls shown as failed, by id and tool: candidates for "cut off". */
export function failedCalls(messages: readonly UIMessage[]): { callId: string; tool: string; error: string }[] {
  return messages.flatMap(({ parts }) =>
    parts.flatMap((part) => {
      if (!isToolPart(part) || part.state !== "output-error") return [];
      return [{ callId: part.toolCallId, tool: toolNameOf(part), error: part.errorText ?? "" }];
    })
  );
}
