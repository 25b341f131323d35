// One call of the model, as a test sees it afterwards: everything the agent sent, frozen, without the abort signal.
// The prompt types cover both specifications; where they differ (file data, tool outputs) a field is `unknown`.
import { frozenCopy } from "./frozen-copy.ts";

export type PromptPart =
  | { readonly type: "text"; readonly text: string; readonly providerOptions?: unknown }
  | { readonly type: "reasoning"; readonly text: string; readonly providerOptions?: unknown }
  | {
      readonly type: "file";
      readonly mediaType: string;
      readonly data: unknown;
      readonly filename?: string;
      readonly providerOptions?: unknown;
    }
  | {
      readonly type: "tool-call";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: unknown;
      readonly providerExecuted?: boolean;
      readonly providerOptions?: unknown;
    }
  | {
      readonly type: "tool-result";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly output: { readonly type: string; readonly value?: unknown; readonly reason?: string };
      readonly providerOptions?: unknown;
    }
  | {
      readonly type: "tool-approval-response";
      readonly approvalId: string;
      readonly approved: boolean;
      readonly reason?: string;
      readonly providerOptions?: unknown;
    }
  | { readonly type: "custom" | "reasoning-file"; readonly providerOptions?: unknown };

export type PromptMessage =
  | { readonly role: "system"; readonly content: string; readonly providerOptions?: unknown }
  | {
      readonly role: "user" | "assistant" | "tool";
      readonly content: readonly PromptPart[];
      readonly providerOptions?: unknown;
    };

export type OfferedTool =
  | {
      readonly type: "function";
      readonly name: string;
      readonly description?: string;
      readonly inputSchema: unknown;
      readonly providerOptions?: unknown;
    }
  | {
      readonly type: "provider";
      readonly name: string;
      readonly id: string;
      readonly args: Readonly<Record<string, unknown>>;
    };

export interface CallSettings {
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  readonly reasoning?: string;
  readonly includeRawChunks?: boolean;
}

interface CallContext {
  readonly prompt: readonly PromptMessage[];
  readonly toolChoice?: { readonly type: string; readonly toolName?: string };
  readonly responseFormat?: { readonly type: string; readonly schema?: unknown; readonly name?: string };
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly providerOptions?: Readonly<Record<string, unknown>>;
}

/** What the SDK passes to a model. */
export interface ModelCallOptions extends CallSettings, CallContext {
  readonly tools?: readonly OfferedTool[];
  readonly abortSignal?: AbortSignal;
}

export interface RecordedCall extends CallContext {
  /** Counts from 1 over the whole script. */
  readonly number: number;
  readonly kind: "stream" | "generate";
  readonly tools: readonly OfferedTool[];
  /** Temperature and the like; only what was set. */
  readonly settings: CallSettings;
  /** The text of the newest user message, or "" without one. */
  readonly lastUserText: string;
}

export function recordCall(number: number, kind: RecordedCall["kind"], options: ModelCallOptions): RecordedCall {
  const {
    abortSignal: _live,
    prompt,
    tools,
    toolChoice,
    responseFormat,
    headers,
    providerOptions,
    ...settings
  } = options;
  const context = { prompt, toolChoice, responseFormat, headers, providerOptions };
  return frozenCopy({
    number,
    kind,
    ...withoutUndefined(context),
    prompt,
    tools: tools ?? [],
    settings: withoutUndefined(settings),
    lastUserText: lastUserText(prompt)
  });
}

function lastUserText(prompt: readonly PromptMessage[]): string {
  const message = prompt.findLast((candidate) => candidate.role === "user");
  if (message === undefined || message.role === "system") return "";
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The SDK passes unset options as undefined; left out, recorded calls compare well with `toEqual`. */
function withoutUndefined<T extends object>(value: T): Partial<T> {
  // Removing keys whose value is undefined leaves a partial of the same type.
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Partial<T>;
}
