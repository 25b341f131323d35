// The class-level settings of an agent and their defaults. Read once per instance.
import { checkAllowedOrigins, type AllowedOrigins } from "./cross-site.ts";
import type { RetryOptions } from "./retry.ts";

/** `static options` of an agent class; name only what differs from the default. */
export interface AgentStaticOptions {
  /** Send the identity frame on connect. Default true. */
  sendIdentityOnConnect?: boolean;
  /**
   * Origins of other sites whose pages may connect and send requests that change something. Default: none. A route's own
   * `allowedOrigins` wins; for a sub-agent its root's count.
   */
  allowedOrigins?: AllowedOrigins;
  /** Heartbeat while something is kept alive, and base of recovery back-off. Default 30,000. */
  keepAliveIntervalMs?: number;
  /** Defaults for `retry`, `schedule` and `queue`. Default `{ maxAttempts: 3, baseDelayMs: 100, maxDelayMs: 3000 }`. */
  retry?: RetryOptions;
  /** An interval left "running" longer than this by a crash runs again. Default 30. */
  hungScheduleTimeoutSeconds?: number;
  /** Accepted for code that was written for the original: it bounds recovery hooks of the framework, and there are none. */
  fiberRecoveryHookTimeoutMs?: number;
  /** How long a start or a wake waits for recovery hooks, and the next hook for one that hangs; 0: without bound. Default 10,000. */
  fiberRecoveryScanDeadlineMs?: number;
  /** Age at which work that keeps failing to recover is given up; 0: never. Default 86,400,000. */
  fiberRecoveryMaxAgeMs?: number;
  /**
   * Kinds of data that are given up when an object of the packages everthink replaces is taken over and they cannot be
   * carried, as the refusal names them. Default: none, and the object is refused.
   */
  allowLossyTakeover?: readonly string[];
}

export interface ResolvedOptions extends Required<Omit<AgentStaticOptions, "retry">> {
  retry: Required<RetryOptions>;
  /** Whether the class said anything about identity: only silence deserves the custom-routing warning. */
  identityIsDefault: boolean;
}

const DEFAULTS = {
  sendIdentityOnConnect: true,
  keepAliveIntervalMs: 30_000,
  hungScheduleTimeoutSeconds: 30,
  fiberRecoveryHookTimeoutMs: 10_000,
  fiberRecoveryScanDeadlineMs: 10_000,
  fiberRecoveryMaxAgeMs: 86_400_000,
  allowLossyTakeover: []
};

const RETRY_DEFAULTS: Required<RetryOptions> = { maxAttempts: 3, baseDelayMs: 100, maxDelayMs: 3000 };

export function resolveOptions(given: AgentStaticOptions = {}): ResolvedOptions {
  return {
    ...DEFAULTS,
    ...given,
    allowedOrigins: checkAllowedOrigins(given.allowedOrigins ?? []),
    retry: { ...RETRY_DEFAULTS, ...given.retry },
    identityIsDefault: given.sendIdentityOnConnect === undefined
  };
}
