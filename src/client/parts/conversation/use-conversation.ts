// Everything that the parts show of one conversation and can do with it, from its one client.
import { useAttachments, type Attachments } from "../composer/use-attachments.ts";
import { answerLength as lengthOf } from "../message/message-text.ts";
import { useThink, type Status, type ThinkClientOptions, type UseThinkResult } from "../think.ts";
import { useActions, type Acting } from "./use-actions.ts";
import { useBudgets, type Budgets } from "./use-budgets.ts";
import { useInterruption, type Interruption } from "./use-interruption.ts";
import { isBusy } from "./use-live-answer.ts";
import { useVersions, type Versions } from "./use-versions.ts";

export interface ConversationView<Agent = unknown> extends UseThinkResult<Agent>, Acting {
  /** An answer is being written, or is about to be. */
  readonly isBusy: boolean;
  /** The answer was cut off, or has just gone on. */
  readonly interruption: Interruption | undefined;
  /** Grows with everything that is added to the newest answer. */
  readonly answerLength: number;
  /** The ids of all versions of the messages that have several. */
  readonly versions: Versions;
  /** Turns that stand still until a person grants more budget. */
  readonly budgets: Budgets;
  /** The pictures that go with the next message. */
  readonly attachments: Attachments;
}

/**
 * The conversation with an agent, for `ChatRoot` and the parts in it: what `useThink` returns, with the versions of
 * messages, attachments, and actions whose refusals are shown above the composer.
 *
 * @example
 * const conversation = useConversation<Assistant>({ agent: "assistant", name: "ada" });
 */
export function useConversation<Agent = unknown>(options: ThinkClientOptions): ConversationView<Agent> {
  const think = useThink<Agent>(options);
  const { messages, status, connection, isRecovering } = think;
  const busy = isBusy(status);
  const { versions, select } = useVersions(think);
  const acting = useActions(think, select);
  const budgets = useBudgets(think as UseThinkResult<unknown>);
  const attachments = useAttachments();
  const answerLength = lengthOf(messages.findLast(({ role }) => role === "assistant"));
  const seen = useInterruption({ connection, isBusy: busy, answerLength, hasProcessDied: isRecovering });
  const interruption = seen ?? (busy && isRecovering ? recovering(status) : undefined);
  return { ...think, ...acting, isBusy: busy, interruption, answerLength, versions, budgets, attachments };
}

/** The agent says so: this page came when the answer was already interrupted. */
function recovering(status: Status): Interruption {
  return { phase: status === "running" ? "goes-on" : "cut", cause: "process" };
}
