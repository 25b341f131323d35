// Builders for what a model says: text, reasoning, tool calls, results, sources, files. Each call is one streamed
// piece. They build data only; nothing happens before the model is called.
import type { Json } from "../../util/json.ts";
import type { BlockDelta, BlockMetadata, ScriptedToolCall, ScriptedToolResult, ScriptPart } from "./script-part.ts";
import { splitText } from "./split-text.ts";
import type { CommonPart, FileData, ProviderMetadata } from "./stream-part.ts";

export interface BlockOptions {
  /** Starts (or continues) the block of this name; the name is the block's id in the stream. */
  block?: string;
  /** Closes the open block and starts another. */
  newBlock?: boolean;
  metadata?: BlockMetadata;
}

/**
 * One text delta. Neighbouring deltas form one text block.
 *
 * @example reply(text("Hello "), text("world"))
 */
export function text(delta: string, options: BlockOptions = {}): BlockDelta {
  return blockDelta("text", delta, options);
}

/**
 * A burst of deltas.
 *
 * @example reply(textChunks(500))
 * @example reply(textChunks(3, (index) => `line ${index}\n`))
 */
export function textChunks(count: number, textAt: (index: number) => string = (index) => `w${index} `): BlockDelta[] {
  return Array.from({ length: count }, (_unused, index) => text(textAt(index)));
}

export interface ReasoningOptions extends BlockOptions {
  /** Short for an Anthropic signature on the part that closes the block. */
  signature?: string;
}

/**
 * One reasoning delta. An empty delta without metadata opens the block and sends nothing in it.
 *
 * @example reply(reasoning("hmm", { signature: "abc" }), text("Yes."))
 */
export function reasoning(delta: string, options: ReasoningOptions = {}): BlockDelta {
  const signed = options.signature === undefined ? {} : { end: { anthropic: { signature: options.signature } } };
  return blockDelta("reasoning", delta, { ...options, metadata: { ...signed, ...options.metadata } });
}

function blockDelta(kind: BlockDelta["kind"], delta: string, options: BlockOptions): BlockDelta {
  const metadata = options.metadata ?? {};
  return {
    kind,
    delta,
    block: options.block,
    opensBlock: options.newBlock ?? metadata.start !== undefined,
    metadata
  };
}

/**
 * A value as JSON text, for structured output, in `chunks` pieces.
 *
 * @example reply(json({ city: "Paris", degrees: 21 }, { chunks: 4 }))
 */
export function json(value: unknown, options: { chunks?: number } = {}): BlockDelta[] {
  return splitText(JSON.stringify(value), options.chunks ?? 1).map((piece) => text(piece));
}

const RAW_INPUT = Symbol("raw tool input");

export interface RawInput {
  readonly [RAW_INPUT]: string;
}

/**
 * Tool input exactly as the model wrote it, well formed or not.
 *
 * @example reply(toolCall("getWeather", rawInput('{"city": "Par')))
 */
export function rawInput(inputText: string): RawInput {
  return { [RAW_INPUT]: inputText };
}

export interface ToolCallOptions {
  /** By default `call-<model call>-<n>`, unique in the script. */
  id?: string;
  /** In how many pieces the input is streamed (default 1); 0 sends the finished call only. */
  inputChunks?: number;
  /** The provider runs the tool itself: follow it with `toolResult()`. */
  providerExecuted?: boolean;
  dynamic?: boolean;
  title?: string;
  /** On the finished call. */
  providerMetadata?: ProviderMetadata;
  /** On the part that opens the input. */
  startMetadata?: ProviderMetadata;
}

/**
 * A tool call. Two in one reply are parallel calls. The reply then finishes with `tool-calls` by itself.
 *
 * @example reply(toolCall("getWeather", { city: "Paris" }), toolCall("getTime", { zone: "CET" }))
 */
export function toolCall(
  toolName: string,
  input: unknown | RawInput = {},
  options: ToolCallOptions = {}
): ScriptedToolCall {
  return {
    kind: "tool-call",
    toolName,
    input: isRawInput(input) ? input[RAW_INPUT] : JSON.stringify(input),
    id: options.id,
    inputChunks: options.inputChunks ?? 1,
    providerExecuted: options.providerExecuted ?? false,
    dynamic: options.dynamic ?? false,
    title: options.title,
    startMetadata: options.startMetadata,
    providerMetadata: options.providerMetadata
  };
}

function isRawInput(value: unknown): value is RawInput {
  return typeof value === "object" && value !== null && RAW_INPUT in value;
}

export interface ToolResultOptions {
  /** By default the last call of that tool in the same reply. */
  id?: string;
  isError?: boolean;
  preliminary?: boolean;
  dynamic?: boolean;
  providerMetadata?: ProviderMetadata;
}

/**
 * The result of a call the provider ran itself.
 *
 * @example reply(toolCall("web_search", { q: "x" }, { providerExecuted: true }), toolResult("web_search", { hits: 3 }))
 */
export function toolResult(
  toolName: string,
  result: NonNullable<Json>,
  options: ToolResultOptions = {}
): ScriptedToolResult {
  return {
    kind: "tool-result",
    toolName,
    result,
    id: options.id,
    isError: options.isError ?? false,
    preliminary: options.preliminary ?? false,
    dynamic: options.dynamic ?? false,
    providerMetadata: options.providerMetadata
  };
}

export interface SourceOptions {
  id?: string;
  title?: string;
  providerMetadata?: ProviderMetadata;
}

/**
 * A web page the answer rests on.
 *
 * @example reply(text("It rained."), source("https://example.com/weather", { title: "Weather" }))
 */
export function source(url: string, options: SourceOptions = {}): ScriptPart {
  const { id = url, title, providerMetadata } = options;
  return {
    kind: "emit",
    part: {
      type: "source",
      sourceType: "url",
      id,
      url,
      ...(title === undefined ? {} : { title }),
      ...(providerMetadata === undefined ? {} : { providerMetadata })
    }
  };
}

/**
 * A file the model made: bytes, or text in base64.
 *
 * @example reply(file("image/png", new Uint8Array([137, 80, 78, 71])))
 */
export function file(
  mediaType: string,
  data: FileData,
  options: { providerMetadata?: ProviderMetadata } = {}
): ScriptPart {
  return { kind: "emit", part: { type: "file", mediaType, data, ...options } };
}

/**
 * Any stream part, sent exactly as given: for shapes this kit has no builder for. The open block stays open.
 *
 * @example reply(rawPart({ type: "reasoning-delta", id: "never-opened", delta: "hm" }))
 */
export function rawPart(part: { readonly type: string; readonly [field: string]: unknown }): ScriptPart {
  // The SDK judges this part, not our types: a test may want to send one that no provider should.
  return { kind: "emit", part: part as CommonPart };
}
