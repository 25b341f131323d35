// One call of the model, as a test sees it afterwards: everything the agent sent, frozen, without the abort signal.
// The prompt types cover both specifications; where they differ (file data, tool outputs) a field is `unknown`.

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

/**
 * A deep copy that cannot be changed: a recorded call shows what the model was asked at that moment. Bytes, dates and URLs are copied but cannot be frozen; functions and other
 * class instances are kept as they are.
 */
function frozenCopy<T>(value: T): T {
  // The copy has the same shape as the value; TypeScript cannot follow that through the recursion.
  return copy(value, new Map()) as T;
}

function copy(value: unknown, seen: Map<object, unknown>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  if (value instanceof Uint8Array) return value.slice();
  if (value instanceof Date) return new Date(value);
  if (value instanceof URL) return new URL(value);
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    seen.set(value, list);
    for (const item of value) list.push(copy(item, seen));
    return Object.freeze(list);
  }
  if (!isPlain(value)) return value;
  const record: Record<string, unknown> = {};
  seen.set(value, record);
  for (const [key, item] of Object.entries(value)) record[key] = copy(item, seen);
  return Object.freeze(record);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
