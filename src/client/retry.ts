// The pause before a model is asked again, as the agent reports it.
import { isObject } from "../util/json.ts";

/** A pause before the model is asked again. */
export interface AwaitedRetry {
  /**
   * "rate-limit": the provider has had too many requests. "provider": it failed. "silence": it said nothing for too long.
   * "server": the agent's own server had a problem.
   */
  readonly reason: "rate-limit" | "provider" | "silence" | "server";
  /** Which attempt comes, counted since the last finished step, and how many there may be. */
  readonly attempt: number;
  readonly of: number;
  /** When, in epoch milliseconds by the agent's clock. */
  readonly at: number;
}

const REASONS: Readonly<Record<AwaitedRetry["reason"], string>> = {
  "rate-limit": "The provider asks to wait",
  provider: "The provider has a problem",
  silence: "The model was silent for too long",
  server: "The server had a problem"
};

/**
 * Says a pause in a sentence, such as "The provider asks to wait: next try in 20 s, attempt 2 of 5."
 *
 * ```ts
 * const { retry } = client.getSnapshot();
 * if (retry) console.log(describeRetry(retry));
 * ```
 */
export function describeRetry({ reason, attempt, of, at }: AwaitedRetry, now = Date.now()): string {
  const seconds = Math.ceil((at - now) / 1_000);
  const when = seconds > 0 ? `next try in ${seconds} s` : "trying again";
  return `${REASONS[reason]}: ${when}, attempt ${attempt} of ${of}.`;
}

/** Undefined: there is none, or not one that this version knows. */
export function readAwaitedRetry(sent: unknown): AwaitedRetry | undefined {
  if (!isObject(sent)) return undefined;
  const { reason, attempt, of, at } = sent;
  if (typeof reason !== "string" || !Object.hasOwn(REASONS, reason)) return undefined;
  if (typeof attempt !== "number" || typeof of !== "number" || typeof at !== "number") return undefined;
  return { reason: reason as AwaitedRetry["reason"], attempt, of, at };
}
