// The user's say in recovery, as the engine asks for it: their policy, their hooks, and the documented consequence of
// each throw.
import type { UIMessage } from "ai";
import type { SessionMessagePart } from "../session/session-message.ts";
import { interruptedPart } from "../session/transcript-repair.ts";
import type { ExhaustionReason } from "../turn/retry-policy.ts";
import type { RecoveryChoice, RecoveryIncident, RecoveryPolicy } from "../turn/recovery.ts";
import type { TurnContext as EngineTurn } from "../turn/turn.ts";
import { isObject } from "../util/json.ts";
import { recoveryConfig, recoveryPolicy, type ChatRecoveryConfig } from "./chat-recovery.ts";
import type { ThinkOverrides } from "./overrides.ts";

type MessagePart = UIMessage["parts"][number];

export interface RecoveryHooksInit {
  readonly overrides: ThinkOverrides;
  /** The conversation as it is stored. */
  readonly messages: () => UIMessage[];
  /** The class's own: what stands for a call that was cut off. */
  readonly repairPart: (part: MessagePart) => MessagePart;
  /** A call that was cut off, with its outcome if somebody knows it after all. */
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

  async recover(
    turn: EngineTurn,
    { work: _work, ageMs: _age, ...incident }: RecoveryIncident
  ): Promise<RecoveryChoice> {
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
    const told = { ...identity, attempt, maxAttempts, recoveryKind, work, ageMs };
    try {
      return (await config.shouldKeepRecovering(told)) !== false;
    } catch (error) {
      console.error("shouldKeepRecovering failed; recovery goes on.", error);
      return true;
    }
  }

  async exhausted(incident: RecoveryIncident & { readonly reason: ExhaustionReason }): Promise<void> {
    const { work: _work, ageMs: _age, recoveryData: _data, ...told } = incident;
    const { terminalMessage } = this.policy;
    try {
      await this.#config.onExhausted?.({ ...told, terminalMessage });
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
      return interruptedPart(part as MessagePart & SessionMessagePart);
    }
  }

  get #config(): ChatRecoveryConfig {
    return recoveryConfig(this.#init.overrides.chatRecovery);
  }
}
