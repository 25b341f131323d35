// What becomes of a message that is written: it is sent, given to the answer that is being written, or kept for after it. Pure.
import type { UIMessage } from "ai";
import type { ConversationActions } from "../conversation/use-actions.ts";
import type { IconName } from "../page/icons.tsx";

/** Resolves false if the message was not taken. */
export type Give = (parts: UIMessage["parts"]) => Promise<boolean> | void;

/** What becomes of what is in the field. */
export interface Way {
  readonly icon: IconName;
  readonly label: string;
  /** What Enter does. */
  readonly verb: string;
  readonly give: Give;
}

/** A waiting message may be this long as JSON, and a little shorter than the agent's limit of 256 KB. */
const WAITING_CHARACTERS = 200_000;

/** Of Enter and of Alt+Enter. */
export function waysOf(
  whileBusy: "steer" | "follow-up" | "send",
  { send, steer, followUp }: ConversationActions
): readonly [Way, Way?] {
  // Pictures are too large to wait: they are a turn of their own, after the one that runs.
  const orSend =
    (give: typeof steer): Give =>
    (parts) =>
      JSON.stringify(parts).length > WAITING_CHARACTERS ? send(parts) : give(parts);
  const steering: Way = { icon: "steer", label: "Steer the answer", verb: "steers", give: orSend(steer) };
  const following: Way = { icon: "later", label: "Ask after this answer", verb: "asks after", give: orSend(followUp) };
  if (whileBusy === "steer") return [steering, following];
  if (whileBusy === "follow-up") return [following, steering];
  return [{ icon: "send", label: "Send", verb: "sends", give: send }];
}
