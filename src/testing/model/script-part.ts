// What `reply()` is made of. A part is plain data: it says what the model sends or does next, and `play.ts` does it.
// Parts of kind usage, finish, response and warning describe the whole reply and may stand anywhere in it.
import type { Json } from "../../util/json.ts";
import type {
  CommonPart,
  FileData,
  FileStreamPart,
  FinishReason,
  ProviderMetadata,
  ResponseInfo,
  Usage,
  Warning
} from "./stream-part.ts";

export interface BlockMetadata {
  /** On the part that opens the block; giving it opens a new one. */
  start?: ProviderMetadata;
  delta?: ProviderMetadata;
  /** On the part that closes the block; the last one given wins. */
  end?: ProviderMetadata;
}

export interface BlockDelta {
  readonly kind: "text" | "reasoning";
  readonly delta: string;
  /** Names the block. Without a name the delta joins the open block of its kind, or opens one. */
  readonly block: string | undefined;
  /** Opens a block even if one of its kind is open. */
  readonly opensBlock: boolean;
  readonly metadata: BlockMetadata;
}

export interface ScriptedToolCall {
  readonly kind: "tool-call";
  readonly toolName: string;
  /** The text the model wrote as input; JSON if it is well behaved. */
  readonly input: string;
  readonly id: string | undefined;
  /** In how many pieces the input is streamed; 0 sends the finished call only. */
  readonly inputChunks: number;
  readonly providerExecuted: boolean;
  readonly dynamic: boolean;
  readonly title: string | undefined;
  readonly startMetadata: ProviderMetadata | undefined;
  readonly providerMetadata: ProviderMetadata | undefined;
}

export interface ScriptedToolResult {
  readonly kind: "tool-result";
  readonly toolName: string;
  readonly result: NonNullable<Json>;
  readonly id: string | undefined;
  readonly isError: boolean;
  readonly preliminary: boolean;
  readonly dynamic: boolean;
  readonly providerMetadata: ProviderMetadata | undefined;
}

export interface WaitContext {
  readonly signal: AbortSignal;
  readonly clock: ScriptClock | undefined;
}

/** The part of the host's clock that a script needs. */
export interface ScriptClock {
  now(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Stall {
  readonly kind: "stall";
}

/** Ends the stream before its finish part: by an error, or silently without one. */
export type StreamBreak = { readonly kind: "break"; readonly error: unknown } | { readonly kind: "cut" };

export type ReplySetting =
  | { readonly kind: "usage"; readonly usage: Usage }
  | {
      readonly kind: "finish";
      readonly reason: FinishReason;
      readonly raw: string | undefined;
      readonly providerMetadata: ProviderMetadata | undefined;
    }
  | { readonly kind: "response"; readonly info: ResponseInfo; readonly headers: Record<string, string> | undefined }
  | { readonly kind: "warning"; readonly warning: Warning };

export type ScriptPart =
  | BlockDelta
  | ScriptedToolCall
  | ScriptedToolResult
  | { readonly kind: "emit"; readonly part: CommonPart | FileStreamPart<FileData> }
  | { readonly kind: "wait"; readonly until: (context: WaitContext) => Promise<void> }
  | Stall
  | StreamBreak
  | ReplySetting;
