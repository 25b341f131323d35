// What a language model streams, in the AI SDK's shapes. They are written out here instead of imported, so that the
// test kit type-checks and runs with whichever SDK major the user has; the tests hold them against both majors.
// The kit works on neutral parts; `encode.ts` turns them into the shapes of one specification.
import type { Json } from "../../util/json.ts";

/** The provider specification a model implements: `v4` for ai 7, `v3` for ai 6 (ai 7 accepts it too). */
export type Specification = "v3" | "v4";

/** Metadata by provider name, e.g. `{ anthropic: { signature: "…" } }`. */
export type ProviderMetadata = Record<string, Record<string, Json>>;

interface WithMetadata {
  providerMetadata?: ProviderMetadata;
}

type BlockKind = "text" | "reasoning";

export type BlockPart =
  | ({ type: `${BlockKind}-start`; id: string } & WithMetadata)
  | ({ type: `${BlockKind}-delta`; id: string; delta: string } & WithMetadata)
  | ({ type: `${BlockKind}-end`; id: string } & WithMetadata);

export interface ToolInputStartPart extends WithMetadata {
  type: "tool-input-start";
  id: string;
  toolName: string;
  providerExecuted?: boolean;
  dynamic?: boolean;
  title?: string;
}

export type ToolInputPart =
  | ToolInputStartPart
  | ({ type: "tool-input-delta"; id: string; delta: string } & WithMetadata)
  | ({ type: "tool-input-end"; id: string } & WithMetadata);

export interface ToolCallPart extends WithMetadata {
  type: "tool-call";
  toolCallId: string;
  toolName: string;
  input: string;
  providerExecuted?: boolean;
  dynamic?: boolean;
}

export interface ToolResultPart extends WithMetadata {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  result: NonNullable<Json>;
  isError?: boolean;
  preliminary?: boolean;
  dynamic?: boolean;
}

export type SourcePart =
  | ({ type: "source"; sourceType: "url"; id: string; url: string; title?: string } & WithMetadata)
  | ({
      type: "source";
      sourceType: "document";
      id: string;
      mediaType: string;
      title: string;
      filename?: string;
    } & WithMetadata);

export interface FileStreamPart<Data> extends WithMetadata {
  type: "file";
  mediaType: string;
  data: Data;
}

/** Bytes, or text in base64. */
export type FileData = string | Uint8Array;

export type Warning =
  | { type: "unsupported"; feature: string; details?: string }
  | { type: "compatibility"; feature: string; details?: string }
  | { type: "other"; message: string };

export interface ResponseInfo {
  id?: string;
  timestamp?: Date;
  modelId?: string;
}

export interface Usage {
  inputTokens: {
    total: number | undefined;
    noCache: number | undefined;
    cacheRead: number | undefined;
    cacheWrite: number | undefined;
  };
  outputTokens: { total: number | undefined; text: number | undefined; reasoning: number | undefined };
  raw?: Record<string, Json>;
}

/** Why a model stopped. */
export type FinishReason = FinishReasonV3 | "interrupted";
export type FinishReasonV3 = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";

export interface FinishPart<Reason> extends WithMetadata {
  type: "finish";
  usage: Usage;
  finishReason: { unified: Reason; raw: string | undefined };
}

/** Parts that look the same in every specification. */
export type CommonPart =
  | BlockPart
  | ToolInputPart
  | ToolCallPart
  | ToolResultPart
  | SourcePart
  | { type: "stream-start"; warnings: Warning[] }
  | ({ type: "response-metadata" } & ResponseInfo)
  | { type: "error"; error: unknown };

export type NeutralPart = CommonPart | FileStreamPart<FileData> | FinishPart<FinishReason>;

/** Content of an answer that was not streamed. */
export type CommonContent =
  | ({ type: "text"; text: string } & WithMetadata)
  | ({ type: "reasoning"; text: string } & WithMetadata)
  | ToolCallPart
  | ToolResultPart
  | SourcePart;

export type NeutralContent = CommonContent | FileStreamPart<FileData>;

export interface GenerateResult<Content, Reason> extends WithMetadata {
  content: Content[];
  finishReason: { unified: Reason; raw: string | undefined };
  usage: Usage;
  response: ResponseInfo & { headers?: Record<string, string> };
  warnings: Warning[];
}

export interface StreamResult<Part> {
  stream: ReadableStream<Part>;
  response: { headers?: Record<string, string> };
}
