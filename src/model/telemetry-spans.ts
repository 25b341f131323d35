// Spans of a call on ai 7 for settings as ai 6 takes them. That major made spans itself, by `experimental_telemetry.tracer` or
// by OpenTelemetry's global provider; ai 7 leaves them to integrations. Where none is given or registered, and telemetry is
// switched on, this is one: a span for the call, one for each request to the model, one for each tool. It records names,
// counts and errors, and nothing of what was said.
import { isObject } from "../util/json.ts";

export interface Span {
  addEvent?(name: string, attributes: Record<string, unknown>): unknown;
  setAttributes(attributes: Record<string, unknown>): unknown;
  recordException?(error: unknown): void;
  setStatus?(status: { code: number }): unknown;
  end(): void;
}

export interface Tracer {
  startSpan(name: string, options: { attributes: Record<string, unknown> }): Span;
  startActiveSpan<T>(name: string, options: { attributes: Record<string, unknown> }, work: (span: Span) => T): T;
}

type Fields = Record<string, unknown>;

/** Where OpenTelemetry's API keeps its providers, in every version of its first major. */
const GLOBAL_API = Symbol.for("opentelemetry.js.api.1");
const FAILED = 2;

/** The settings, with an integration where they ask for spans and no integration makes them. */
export function withSpans(telemetry: unknown): unknown {
  if (!isObject(telemetry) || telemetry["isEnabled"] !== true || telemetry["integrations"] !== undefined)
    return telemetry;
  const registered: unknown = Reflect.get(globalThis, "AI_SDK_TELEMETRY_INTEGRATIONS");
  if (Array.isArray(registered) && registered.length > 0) return telemetry;
  const tracer = tracerOf(telemetry["tracer"]) ?? globalTracer();
  return tracer ? { ...telemetry, integrations: [new CallSpans(tracer, telemetry)] } : telemetry;
}

export function globalTracer(): Tracer | undefined {
  const api: unknown = Reflect.get(globalThis, GLOBAL_API);
  const provider = isObject(api) ? api["trace"] : undefined;
  const getTracer = isObject(provider) ? provider["getTracer"] : undefined;
  return typeof getTracer === "function" ? tracerOf(getTracer.call(provider, "ai")) : undefined;
}

export function tracerOf(value: unknown): Tracer | undefined {
  const isTracer =
    isObject(value) && typeof value["startSpan"] === "function" && typeof value["startActiveSpan"] === "function";
  // It has both methods.
  return isTracer ? (value as object as Tracer) : undefined;
}

/** The spans of one call, whose events come in order. */
class CallSpans {
  readonly #tracer: Tracer;
  readonly #common: Fields;
  #call: Span | undefined;
  #request: Span | undefined;

  constructor(tracer: Tracer, { functionId, metadata }: Fields) {
    this.#tracer = tracer;
    const given = Object.entries(isObject(metadata) ? metadata : {});
    this.#common = {
      ...(functionId !== undefined && { "ai.telemetry.functionId": functionId }),
      ...Object.fromEntries(given.map(([name, value]) => [`ai.telemetry.metadata.${name}`, value]))
    };
  }

  onStart(event: Fields): void {
    this.#call = this.#tracer.startSpan("ai.streamText", { attributes: this.#attributes("ai.streamText", event) });
  }

  onLanguageModelCallStart(event: Fields): void {
    const name = "ai.streamText.doStream";
    this.#request = this.#tracer.startSpan(name, { attributes: this.#attributes(name, event) });
  }

  onLanguageModelCallEnd(event: Fields): void {
    this.#request?.setAttributes(usageOf(event));
    this.#request?.end();
    this.#request = undefined;
  }

  async executeTool<T>(
    given: Fields & { readonly toolCallId: string; readonly execute: () => PromiseLike<T> }
  ): Promise<T> {
    const name = isObject(given["toolCall"]) ? given["toolCall"]["toolName"] : undefined;
    const attributes = {
      ...this.#attributes("ai.toolCall", given),
      "ai.toolCall.id": given.toolCallId,
      ...(name !== undefined && { "ai.toolCall.name": name })
    };
    return this.#tracer.startActiveSpan("ai.toolCall", { attributes }, async (span) => {
      try {
        return await given.execute();
      } catch (error) {
        failed(span, error);
        throw error;
      } finally {
        span.end();
      }
    });
  }

  onEnd(event: Fields): void {
    this.#call?.setAttributes(usageOf(event));
    this.#end();
  }

  onAbort(): void {
    this.#end();
  }

  onError(event: unknown): void {
    const error = isObject(event) && "error" in event ? event["error"] : event;
    for (const span of [this.#request, this.#call]) if (span) failed(span, error);
    this.#end();
  }

  #end(): void {
    this.#request?.end();
    this.#call?.end();
    this.#request = undefined;
    this.#call = undefined;
  }

  #attributes(operationId: string, { modelId, provider }: Fields): Fields {
    return {
      "ai.operationId": operationId,
      ...(typeof modelId === "string" && { "ai.model.id": modelId }),
      ...(typeof provider === "string" && { "ai.model.provider": provider }),
      ...genAiOf(operationId, { modelId, provider }),
      ...this.#common
    };
  }
}

/** OpenTelemetry's conventions for generative AI: of a request, and of the call around its requests. */
function genAiOf(operationId: string, { modelId, provider }: Fields): Fields {
  if (operationId === "ai.toolCall") return { "gen_ai.operation.name": "execute_tool" };
  return {
    "gen_ai.operation.name": "chat",
    ...(typeof provider === "string" && { "gen_ai.provider.name": provider.split(".")[0] }),
    ...(typeof modelId === "string" && { "gen_ai.request.model": modelId })
  };
}

function failed(span: Span, error: unknown): void {
  span.recordException?.(error);
  span.setStatus?.({ code: FAILED });
}

function usageOf({ finishReason, usage, totalUsage = usage }: Fields): Fields {
  const { inputTokens, outputTokens } = isObject(totalUsage) ? totalUsage : {};
  return {
    ...(typeof finishReason === "string" && { "ai.response.finishReason": finishReason }),
    ...(typeof finishReason === "string" && { "gen_ai.response.finish_reasons": [finishReason] }),
    ...(typeof inputTokens === "number" && {
      "ai.usage.promptTokens": inputTokens,
      "gen_ai.usage.input_tokens": inputTokens
    }),
    ...(typeof outputTokens === "number" && {
      "ai.usage.completionTokens": outputTokens,
      "gen_ai.usage.output_tokens": outputTokens
    })
  };
}
