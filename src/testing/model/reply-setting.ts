// Builders for what a provider reports about a whole reply. They may stand anywhere in it; of several, the last wins
// (warnings add up).
import type { Json } from "../../util/json.ts";
import type { ReplySetting } from "./script-part.ts";
import type { FinishReason, ProviderMetadata, ResponseInfo, Usage, Warning } from "./stream-part.ts";

export interface UsageOptions {
  /** All input tokens, cached ones included. */
  input?: number;
  /** All output tokens, reasoning included. */
  output?: number;
  cacheRead?: number;
  cacheWrite?: number;
  reasoning?: number;
  raw?: Record<string, Json>;
}

/**
 * Token counts. A reply without it reports none, as some providers do.
 *
 * @example reply(text("Hi"), usage({ input: 10, output: 2 }))
 */
export function usage(options: UsageOptions): ReplySetting {
  const { input, output, cacheRead, cacheWrite, reasoning, raw } = options;
  const counts: Usage = {
    inputTokens: {
      total: input,
      noCache: input === undefined ? undefined : input - (cacheRead ?? 0) - (cacheWrite ?? 0),
      cacheRead,
      cacheWrite
    },
    outputTokens: { total: output, text: output === undefined ? undefined : output - (reasoning ?? 0), reasoning },
    ...(raw === undefined ? {} : { raw })
  };
  return { kind: "usage", usage: counts };
}

/**
 * Overrides the finish reason, which is otherwise `tool-calls` after a tool call the agent has to run, `error` after
 * an error part, and `stop`.
 *
 * @example reply(text("And then"), finish("length"))
 */
export function finish(
  reason: FinishReason,
  options: { raw?: string; providerMetadata?: ProviderMetadata } = {}
): ReplySetting {
  return { kind: "finish", reason, raw: options.raw, providerMetadata: options.providerMetadata };
}

/**
 * What the provider says about its response. By default the id is `response-<model call>`, the model the scripted
 * one, and the time that of the clock in the options, if any.
 *
 * @example reply(response({ id: "msg_01", headers: { "x-request-id": "7" } }), text("Hi"))
 */
export function response(options: ResponseInfo & { headers?: Record<string, string> }): ReplySetting {
  const { headers, ...info } = options;
  return { kind: "response", info, headers };
}

/**
 * A warning of the provider, e.g. about a setting it ignores.
 *
 * @example reply(warning({ type: "unsupported", feature: "topK" }), text("Hi"))
 */
export function warning(content: string | Warning): ReplySetting {
  return { kind: "warning", warning: typeof content === "string" ? { type: "other", message: content } : content };
}
