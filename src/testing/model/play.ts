// Plays one reply: script parts in, stream parts out, one at a time and only on demand. Guarantees a well-formed
// stream around whatever the script says: blocks are opened and closed, tool input is streamed before its call, and
// the finish part comes last with a reason that fits. Crash points and delivery are left to the caller.
import { assertNever } from "../../util/assert-never.ts";
import { abortable, untilAborted } from "./abortable.ts";
import { ScriptError } from "./errors.ts";
import type { BlockDelta, ScriptClock, ScriptedToolCall, ScriptedToolResult, ScriptPart } from "./script-part.ts";
import { splitText } from "./split-text.ts";
import type { Reply } from "./step.ts";
import type {
  BlockPart,
  FinishReason,
  NeutralPart,
  ProviderMetadata,
  ResponseInfo,
  ToolCallPart,
  ToolInputPart,
  ToolResultPart,
  Usage
} from "./stream-part.ts";

export interface PlayContext {
  readonly callNumber: number;
  readonly modelId: string;
  readonly signal: AbortSignal;
  readonly clock: ScriptClock | undefined;
}

const NO_USAGE: Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined }
};

/** Throws what breaks the stream, or the abort's reason. Returns without a finish part if the stream is cut. */
export async function* play(reply: Reply, context: PlayContext): AsyncGenerator<NeutralPart, void, void> {
  yield {
    type: "stream-start",
    warnings: reply.parts.flatMap((part) => (part.kind === "warning" ? part.warning : []))
  };
  yield { type: "response-metadata", ...responseInfo(reply, context) };
  const writer = new PartWriter(context.callNumber);
  for (const part of reply.parts) {
    switch (part.kind) {
      case "wait":
        await abortable(part.until(context), context.signal);
        break;
      case "stall":
        await untilAborted(context.signal);
        break;
      case "break":
        throw part.error;
      case "cut":
        return;
      default:
        yield* writer.write(part);
    }
  }
  yield* writer.closeBlock();
  yield finishPart(reply, writer.impliedReason);
}

/** What the provider says about its response, with the defaults filled in. */
export function responseInfo(reply: Reply, context: PlayContext): ResponseInfo {
  const scripted = reply.parts.findLast((part) => part.kind === "response");
  return {
    id: `response-${context.callNumber}`,
    modelId: context.modelId,
    ...(context.clock === undefined ? {} : { timestamp: new Date(context.clock.now()) }),
    ...scripted?.info
  };
}

export function responseHeaders(reply: Reply): { headers?: Record<string, string> } {
  const headers = reply.parts.findLast((part) => part.kind === "response")?.headers;
  return headers === undefined ? {} : { headers };
}

function finishPart(reply: Reply, implied: FinishReason): NeutralPart {
  const scripted = reply.parts.findLast((part) => part.kind === "finish");
  const unified = scripted?.reason ?? implied;
  return {
    type: "finish",
    usage: reply.parts.findLast((part) => part.kind === "usage")?.usage ?? NO_USAGE,
    finishReason: { unified, raw: scripted?.raw ?? unified },
    ...metadata(scripted?.providerMetadata)
  };
}

interface OpenBlock {
  readonly kind: BlockDelta["kind"];
  readonly id: string;
  end: ProviderMetadata | undefined;
}

type SpokenPart = Exclude<ScriptPart, { kind: "wait" | "stall" | "break" | "cut" }>;

/** Knows which block is open and what was called so far in one reply. */
class PartWriter {
  readonly #callNumber: number;
  readonly #lastCallId = new Map<string, string>();
  #open: OpenBlock | undefined;
  #blockCount = 0;
  #toolCallCount = 0;
  #hasError = false;
  #hasAgentCall = false;

  constructor(callNumber: number) {
    this.#callNumber = callNumber;
  }

  get impliedReason(): FinishReason {
    if (this.#hasError) return "error";
    return this.#hasAgentCall ? "tool-calls" : "stop";
  }

  *write(part: SpokenPart): Generator<NeutralPart, void, void> {
    switch (part.kind) {
      case "text":
      case "reasoning":
        yield* this.#writeDelta(part);
        return;
      case "tool-call":
        yield* this.closeBlock();
        yield* this.#writeToolCall(part);
        return;
      case "tool-result":
        yield* this.closeBlock();
        yield this.#toolResult(part);
        return;
      case "emit":
        if (part.part.type === "error") this.#hasError = true;
        if (part.part.type === "tool-call") this.#noteCall(part.part);
        yield part.part;
        return;
      case "usage":
      case "finish":
      case "response":
      case "warning":
        return;
      default:
        assertNever(part);
    }
  }

  *closeBlock(): Generator<BlockPart, void, void> {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    yield { type: `${open.kind}-end`, id: open.id, ...metadata(open.end) };
  }

  *#writeDelta(part: BlockDelta): Generator<BlockPart, void, void> {
    let open = this.#open;
    if (open === undefined || !joins(part, open)) {
      yield* this.closeBlock();
      // Ids start over in every reply, as they do at some providers: code under test must not take them for unique.
      open = { kind: part.kind, id: part.block ?? String(this.#blockCount), end: undefined };
      this.#blockCount += 1;
      this.#open = open;
      yield { type: `${part.kind}-start`, id: open.id, ...metadata(part.metadata.start) };
    }
    open.end = part.metadata.end ?? open.end;
    if (part.delta === "" && part.metadata.delta === undefined) return;
    yield { type: `${part.kind}-delta`, id: open.id, delta: part.delta, ...metadata(part.metadata.delta) };
  }

  *#writeToolCall(part: ScriptedToolCall): Generator<ToolInputPart | ToolCallPart, void, void> {
    this.#toolCallCount += 1;
    const id = part.id ?? `call-${this.#callNumber}-${this.#toolCallCount}`;
    const flags = {
      ...(part.providerExecuted ? { providerExecuted: true } : {}),
      ...(part.dynamic ? { dynamic: true } : {})
    };
    const { toolName, input } = part;
    if (part.inputChunks > 0) {
      const title = part.title === undefined ? {} : { title: part.title };
      yield { type: "tool-input-start", id, toolName, ...flags, ...title, ...metadata(part.startMetadata) };
      for (const delta of splitText(input, part.inputChunks)) yield { type: "tool-input-delta", id, delta };
      yield { type: "tool-input-end", id };
    }
    const call: ToolCallPart = {
      type: "tool-call",
      toolCallId: id,
      toolName,
      input,
      ...flags,
      ...metadata(part.providerMetadata)
    };
    this.#noteCall(call);
    yield call;
  }

  #toolResult(part: ScriptedToolResult): ToolResultPart {
    const toolCallId = part.id ?? this.#lastCallId.get(part.toolName);
    if (toolCallId === undefined) {
      throw new ScriptError(
        `toolResult("${part.toolName}") has no call of that tool before it in its reply.`,
        "Put toolCall(…, { providerExecuted: true }) before it, or give the result the id of its call."
      );
    }
    return {
      type: "tool-result",
      toolCallId,
      toolName: part.toolName,
      result: part.result,
      ...(part.isError ? { isError: true } : {}),
      ...(part.preliminary ? { preliminary: true } : {}),
      ...(part.dynamic ? { dynamic: true } : {}),
      ...metadata(part.providerMetadata)
    };
  }

  #noteCall(call: ToolCallPart): void {
    this.#lastCallId.set(call.toolName, call.toolCallId);
    if (call.providerExecuted !== true) this.#hasAgentCall = true;
  }
}

function joins(part: BlockDelta, open: OpenBlock): boolean {
  if (part.kind !== open.kind || part.opensBlock) return false;
  return part.block === undefined || part.block === open.id;
}

function metadata(providerMetadata: ProviderMetadata | undefined): { providerMetadata?: ProviderMetadata } {
  return providerMetadata === undefined ? {} : { providerMetadata };
}
