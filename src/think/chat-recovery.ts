// How a class says what becomes of interrupted turns, and what its hooks are told. Bad values become the defaults: a
// decision about an interrupted turn must not fail on them.
import type { UIMessage } from "ai";
import type { ClientTool } from "../journal/records.ts";
import type { ExhaustionReason } from "../turn/retry-policy.ts";
import type { RecoveryIncident, RecoveryPolicy } from "../turn/recovery.ts";

/** What `shouldKeepRecovering` is told. */
export type ChatRecoveryProgressContext = Pick<
  RecoveryIncident,
  | "incidentId"
  | "requestId"
  | "recoveryRootRequestId"
  | "attempt"
  | "maxAttempts"
  | "recoveryKind"
  /** Units of progress since the first interruption. */
  | "work"
  /** Time since then. */
  | "ageMs"
>;

/** What `onChatRecovery` is told. */
export interface ChatRecoveryContext extends Omit<RecoveryIncident, "work" | "ageMs"> {
  /** The conversation as it is stored. */
  readonly messages: UIMessage[];
  /** Custom fields of the request. */
  readonly lastBody?: Record<string, unknown>;
  readonly lastClientTools?: readonly ClientTool[];
}

/** What `onExhausted` is told. */
export interface ChatRecoveryExhaustedContext extends Omit<RecoveryIncident, "work" | "ageMs" | "recoveryData"> {
  readonly reason: ExhaustionReason;
  readonly terminalMessage: string;
}

/** What `onChatRecovery` answers. */
export interface ChatRecoveryOptions {
  /** Whether the partial answer is kept (default true). Results of tools always are. */
  persist?: boolean;
  /** Whether the turn goes on (default true). */
  continue?: boolean;
}

export interface ChatRecoveryConfig {
  /** Attempts in a row without progress (default 10). */
  maxAttempts?: number;
  /** Accepted for compatibility: a recovered turn has its place in the queue and waits for nobody. */
  stableTimeoutMs?: number;
  /** Time without progress (default 5 minutes). */
  noProgressTimeoutMs?: number;
  /** Units of progress that recovery may make in all (default 10 000). */
  maxRecoveryWork?: number;
  /** Attempts whose process died, the first included (default 5). */
  maxInterruptedAttempts?: number;
  /** What people are shown when a turn is given up. */
  terminalMessage?: string;
  /** Asked from the second interruption on; false gives the turn up. */
  shouldKeepRecovering?(context: ChatRecoveryProgressContext): boolean | Promise<boolean>;
  /** Told once when a turn is given up. */
  onExhausted?(context: ChatRecoveryExhaustedContext): void | Promise<void>;
}

const DEFAULTS: Omit<RecoveryPolicy, "enabled"> = {
  maxAttempts: 10,
  noProgressTimeoutMs: 300_000,
  maxRecoveryWork: 10_000,
  maxInterruptedAttempts: 5,
  terminalMessage: "The assistant was interrupted and could not recover. Please try again."
};

/** What the setting says in detail. */
export function recoveryConfig(setting: boolean | ChatRecoveryConfig): ChatRecoveryConfig {
  return typeof setting === "object" && setting !== null ? setting : {};
}

export function recoveryPolicy(setting: boolean | ChatRecoveryConfig): RecoveryPolicy {
  const config = recoveryConfig(setting);
  return {
    enabled: setting !== false,
    maxAttempts: whole(config.maxAttempts, 1) ?? DEFAULTS.maxAttempts,
    noProgressTimeoutMs: whole(config.noProgressTimeoutMs, 0) ?? DEFAULTS.noProgressTimeoutMs,
    maxRecoveryWork: atLeastZero(config.maxRecoveryWork) ?? DEFAULTS.maxRecoveryWork,
    maxInterruptedAttempts: whole(config.maxInterruptedAttempts, 1) ?? DEFAULTS.maxInterruptedAttempts,
    terminalMessage: typeof config.terminalMessage === "string" ? config.terminalMessage : DEFAULTS.terminalMessage
  };
}

function whole(value: unknown, least: number): number | undefined {
  return typeof value === "number" && !Number.isNaN(value) ? Math.max(least, Math.floor(value)) : undefined;
}

function atLeastZero(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 ? value : undefined;
}
