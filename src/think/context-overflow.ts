// Turns that outgrow the model's context window. The session's compaction, called in the middle of a turn, makes the
// history shorter; what the turn itself has brought in cannot be compacted, so the oldest results of its tools are cut
// in the prompt. What is stored of the turn is never touched.
import type { ContextOverflowOptions } from "../feature/settings.ts";
import type { ModelMessage } from "ai";
import { beforeDeadline } from "../host/deadline.ts";
import type { AgentRuntime } from "../agent/runtime.ts";
import {
  answeredCallIds,
  normaliseUsage,
  shrinkToolResults,
  toolResultChars,
  unpairedCallIds,
  type StepStart
} from "../model/index.ts";
import type { EventPayloads } from "../observe/events.ts";
import type { Session } from "../session/session.ts";

/** A compaction that takes longer is not waited for: the turn goes on as if it had not helped. */
export const COMPACTION_WAIT_MS = 5 * 60_000;

/** For turning the tokens a prompt must lose into characters. */
const CHARS_PER_TOKEN = 4;

type CompactedEvent = EventPayloads["chat:context:compacted"];

/** What is used of the conversation and its agent. */
interface OverflowHost {
  readonly session: Session;
  readonly agent: Pick<AgentRuntime, "clock" | "emit">;
}

export class ContextOverflow {
  readonly #host: OverflowHost;

  constructor(host: OverflowHost) {
    this.#host = host;
  }

  /**
   * Shortens the history that ends at `leafId` (default: the latest message); false when it could not. One event is
   * emitted, whatever came of it. Never throws.
   */
  async compact(event: Omit<CompactedEvent, "shortened">, leafId?: string): Promise<boolean> {
    const { agent } = this.#host;
    const late = () => new Error(`It took longer than ${COMPACTION_WAIT_MS} ms.`);
    let shortened = false;
    try {
      const compacted = this.#host.session.compact(leafId);
      shortened =
        (await beforeDeadline(compacted, { clock: agent.clock, timeoutMs: COMPACTION_WAIT_MS, late })) !== null;
    } catch (error) {
      console.warn("The history could not be compacted.", error);
    }
    agent.emit("chat:context:compacted", { ...event, shortened });
    return shortened;
  }
}

export interface ProactiveLimits {
  /** A step that read this many tokens is the last before something is done. */
  readonly tokens: number;
  /** Compactions per run of the model. */
  readonly compactions: number;
}

const HEADROOM = 0.9;

/** What the setting says in numbers; undefined: there is no guard. */
export function proactiveLimits(setting: ContextOverflowOptions | undefined): ProactiveLimits | undefined {
  const { maxInputTokens, headroom = HEADROOM, maxCompactions = 1 } = setting?.proactive ?? {};
  if (typeof maxInputTokens !== "number" || !(maxInputTokens > 0)) return undefined;
  const part = headroom > 0 ? headroom : HEADROOM;
  return { tokens: maxInputTokens * part, compactions: Math.max(1, Math.floor(maxCompactions) || 1) };
}

export interface ProactiveGuardInit {
  readonly limits: ProactiveLimits;
  /** Shortens the history; false when it could not. Never throws. */
  readonly compact: (attempt: number) => Promise<boolean>;
  /** What the call began with, with the history as it is now. Undefined: user code has put it together itself. */
  readonly rebuild: (() => Promise<ModelMessage[]>) | undefined;
  /** Calls of this turn that were answered before this run of the model. */
  readonly ownCallIds: readonly string[];
}

/** Looks at each step of one run of the model before it is made. */
export class ProactiveGuard {
  readonly #init: ProactiveGuardInit;
  #compactions = 0;
  /** How long the turn's own results may be; set once they had to be cut. */
  #ownChars: number | undefined;

  constructor(init: ProactiveGuardInit) {
    this.#init = init;
  }

  /** The messages for this step and all later ones; undefined when those it has will do. Never throws. */
  async rebase(event: StepStart): Promise<ModelMessage[] | undefined> {
    const { limits } = this.#init;
    const used = readTokens(event);
    if (used === undefined || used < limits.tokens) return undefined;
    try {
      return (await this.#compacted(event)) ?? this.#shrunk(event, used);
    } catch (error) {
      console.warn("The prompt could not be made shorter; the step goes on as it is.", error);
      return undefined;
    }
  }

  async #compacted(event: StepStart): Promise<ModelMessage[] | undefined> {
    const { limits, compact, rebuild } = this.#init;
    if (rebuild === undefined || this.#compactions >= limits.compactions) return undefined;
    this.#compactions += 1;
    if (!(await compact(this.#compactions))) return undefined;
    const messages = [...(await rebuild()), ...event.responseMessages];
    // A provider refuses a result whose call is gone.
    if (unpairedCallIds(messages).length > 0) return undefined;
    if (this.#ownChars === undefined) return messages;
    return shrinkToolResults(messages, { callIds: this.#ownCalls(event), toChars: this.#ownChars });
  }

  #shrunk(event: StepStart, used: number): ModelMessage[] | undefined {
    const callIds = this.#ownCalls(event);
    const ownChars = toolResultChars(event.messages, callIds);
    // What the last step's tools brought has not been counted yet.
    const newIds = new Set(answeredCallIds(event.responseMessages.slice(-1)));
    const newChars = toolResultChars(event.messages, newIds);
    const excessChars = (used - this.#init.limits.tokens) * CHARS_PER_TOKEN + newChars;
    this.#ownChars = Math.max(0, ownChars - excessChars);
    const messages = shrinkToolResults(event.messages, { callIds, toChars: this.#ownChars });
    return messages === event.messages ? undefined : messages;
  }

  #ownCalls(event: StepStart): ReadonlySet<string> {
    return new Set([...this.#init.ownCallIds, ...answeredCallIds(event.responseMessages)]);
  }
}

/** What the step before has read. */
function readTokens({ steps }: StepStart): number | undefined {
  const usage = normaliseUsage(steps.at(-1)?.usage);
  return usage.inputTokens ?? usage.totalTokens;
}

/** After so many overflows, the prompt with half of the turn's own results, a quarter, … */
export function shrunkAfterOverflows(
  messages: ModelMessage[],
  { overflows, ownCallIds }: { readonly overflows: number; readonly ownCallIds: readonly string[] }
): ModelMessage[] {
  if (overflows === 0) return messages;
  const callIds = new Set(ownCallIds);
  return shrinkToolResults(messages, { callIds, toChars: toolResultChars(messages, callIds) / 2 ** overflows });
}
