// How a class says what becomes of interrupted turns, and what its hooks are given. Bad values become the defaults: a
// decision about an interrupted turn must not fail on them.
import type { UIMessage } from "ai";
import type { RecordedClientTool } from "../journal/records.ts";
import { interruptedPart } from "../session/open-calls.ts";
import type { RecoveryChoice, RecoveryIncident, RecoveryPolicy } from "../turn/recovery.ts";
import type { ExhaustionReason } from "../turn/retry-policy.ts";
import type { TurnView } from "../turn/turn.ts";
import { isObject } from "../util/json.ts";
import type { Overrides } from "./overrides.ts";

/** What `shouldKeepRecovering` is given. */
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

/** What `onChatRecovery` is given. */
export interface ChatRecoveryContext extends Omit<RecoveryIncident, "work" | "ageMs"> {
  /** The conversation as it is stored. */
  readonly messages: UIMessage[];
  /** Custom fields of the request. */
  readonly lastBody?: Record<string, unknown>;
  readonly lastClientTools?: readonly RecordedClientTool[];
}

/** What `onExhausted` is given. */
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
  /** Accepted for compatibility: a recovered turn has its place in the queue and does not wait. */
  stableTimeoutMs?: number;
  /** Time without progress (default 5 minutes). */
  noProgressTimeoutMs?: number;
  /** Units of progress that recovery may make in all (default 10 000). */
  maxRecoveryWork?: number;
  /** Attempts whose process died, the first included (default 5). */
  maxInterruptedAttempts?: number;
  /** What users are shown when a turn is given up. */
  terminalMessage?: string;
  /** Asked from the second interruption on; false gives the turn up. */
  shouldKeepRecovering?(context: ChatRecoveryProgressContext): boolean | Promise<boolean>;
  /** Called once when a turn is given up. */
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
function recoveryConfig(setting: boolean | ChatRecoveryConfig): ChatRecoveryConfig {
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

// ── The class's policy and hooks, as the engine asks for them, with the documented consequence of each throw ──

type MessagePart = UIMessage["parts"][number];

export interface RecoveryHooksInit {
  readonly overrides: Overrides;
  /** The conversation as it is stored. */
  readonly messages: () => UIMessage[];
  /** The class's own: what stands for a call that was cut off. */
  readonly repairPart: (part: MessagePart) => MessagePart;
  /** A call that was cut off, with its outcome where a feature has it. */
  readonly settledPart?: (part: MessagePart, requestId: string) => MessagePart | undefined;
}

export class RecoveryHooks {
  readonly #init: RecoveryHooksInit;

  constructor(init: RecoveryHooksInit) {
    this.#init = init;
  }

  get policy(): RecoveryPolicy {
    return recoveryPolicy(this.#init.overrides.chatRecovery);
  }

  async recover(turn: TurnView, { work: _work, ageMs: _age, ...incident }: RecoveryIncident): Promise<RecoveryChoice> {
    const { overrides, messages } = this.#init;
    const chosen = await overrides.onChatRecovery({
      ...incident,
      messages: messages(),
      ...(turn.body !== undefined && { lastBody: turn.body }),
      ...(turn.clientTools.length > 0 && { lastClientTools: turn.clientTools })
    });
    return { persist: chosen?.persist !== false, continue: chosen?.continue !== false };
  }

  async keepsRecovering(incident: RecoveryIncident): Promise<boolean> {
    const config = this.#config;
    if (!config.shouldKeepRecovering) return true;
    const { incidentId, requestId, recoveryRootRequestId, attempt, maxAttempts, recoveryKind, work, ageMs } = incident;
    const identity = { incidentId, requestId, recoveryRootRequestId };
    const details = { ...identity, attempt, maxAttempts, recoveryKind, work, ageMs };
    try {
      return (await config.shouldKeepRecovering(details)) !== false;
    } catch (error) {
      console.error("shouldKeepRecovering failed; recovery goes on.", error);
      return true;
    }
  }

  async exhausted(incident: RecoveryIncident & { readonly reason: ExhaustionReason }): Promise<void> {
    const { work: _work, ageMs: _age, recoveryData: _data, ...details } = incident;
    const { terminalMessage } = this.policy;
    try {
      await this.#config.onExhausted?.({ ...details, terminalMessage });
    } catch (error) {
      console.error("onExhausted failed.", error);
    }
  }

  repairPart(part: MessagePart, requestId?: string): MessagePart {
    const settled = requestId === undefined ? undefined : this.#init.settledPart?.(part, requestId);
    if (settled) return settled;
    try {
      const repaired: unknown = this.#init.repairPart(part);
      if (isObject(repaired) && typeof repaired["type"] === "string") return repaired as MessagePart;
      throw new TypeError("It returned no part of a message.");
    } catch (error) {
      // A turn that cannot end, or be shown to the model, would block the conversation for good.
      console.error("repairInterruptedToolPart failed; the default is used.", error);
      return interruptedPart(part);
    }
  }

  get #config(): ChatRecoveryConfig {
    return recoveryConfig(this.#init.overrides.chatRecovery);
  }
}
