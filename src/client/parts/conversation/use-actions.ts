// What a person does, guarded: whatever is refused is said in one sentence above the composer, and nothing is thrown
// into the page.
import { useCallback, useMemo, useState } from "react";
import type { MessageActions } from "../message/message-actions.ts";
import type { UIMessage } from "ai";
import type { ClientReceipt, UseThinkResult } from "../think.ts";

type MessageParts = UIMessage["parts"];

export interface ConversationActions extends MessageActions {
  send(parts: MessageParts): void;
  /** Hands it over: it is answered whether or not the page stays. */
  submit(parts: MessageParts): void;
  /** Gives it to the answer that is being written. Resolves false if it was not taken. */
  steer(parts: MessageParts): Promise<boolean>;
  /** The same, for after it. */
  followUp(parts: MessageParts): Promise<boolean>;
  /** Of a message that waits. Resolves false if it has taken effect. */
  editQueued(id: string, parts: MessageParts): Promise<boolean>;
  withdraw(id: string): void;
  retry(): void;
  stop(): void;
  /** Lets the answer end before its next step, with what it has. */
  stopAfterStep(): void;
}

/** A message on its way to the agent, which has not accepted it yet. */
export interface UnsentMessage {
  readonly id: string;
  readonly kind: ClientReceipt["kind"];
  readonly parts: MessageParts;
}

export interface Acting {
  readonly actions: ConversationActions;
  /** Why the last of them was refused. */
  readonly problem: string | undefined;
  forgetProblem(): void;
  /** How often this page has sent something. The end of the conversation is shown then. */
  readonly sent: number;
  /** Messages for the answer that is being written, on their way. */
  readonly unsent: readonly UnsentMessage[];
}

type Waiting = "steer" | "followUp" | "editQueued" | "withdraw" | "stopAfterStep";
type Doing = Pick<UseThinkResult<unknown>, "send" | "submit" | "regenerate" | "edit" | "stop" | Waiting>;

export function useActions(think: Doing, select: (messageId: string) => Promise<void>): Acting {
  const { send, submit, regenerate, edit, stop, steer, followUp, editQueued, withdraw, stopAfterStep } = think;
  const [problem, setProblem] = useState<string>();
  const [sent, setSent] = useState(0);
  const [unsent, setUnsent] = useState<readonly UnsentMessage[]>([]);
  const actions = useMemo(() => {
    /** False: it was refused. */
    const guard = async (act: () => Promise<unknown>): Promise<boolean> => {
      setProblem(undefined);
      try {
        await act();
        return true;
      } catch (error) {
        setProblem(error instanceof Error ? error.message : String(error));
        return false;
      }
    };
    const giving = async (kind: UnsentMessage["kind"], parts: MessageParts, give: typeof steer) => {
      const id = crypto.randomUUID();
      setUnsent((before) => [...before, { id, kind, parts }]);
      const isTaken = await guard(() => give(parts, { id }));
      setUnsent((before) => before.filter((message) => message.id !== id));
      return isTaken;
    };
    const sending = (act: () => Promise<unknown>) => {
      setSent((before) => before + 1);
      void guard(act);
    };
    return {
      send: (parts) => sending(() => send(parts)),
      submit: (parts) => void guard(() => submit(parts)),
      steer: (parts) => giving("steer", parts, steer),
      followUp: (parts) => giving("follow-up", parts, followUp),
      editQueued: (id, parts) => guard(() => editQueued(id, parts)),
      withdraw: (id) => void guard(() => withdraw(id)),
      stopAfterStep: () => void guard(() => stopAfterStep()),
      retry: () => void guard(() => regenerate()),
      stop: () => void guard(() => stop()),
      regenerate: (messageId) => void guard(() => regenerate(messageId)),
      edit: (messageId, parts) => void guard(() => edit(messageId, parts)),
      selectVersion: (messageId) => void guard(() => select(messageId))
    } satisfies ConversationActions;
  }, [send, submit, regenerate, edit, stop, steer, followUp, editQueued, withdraw, stopAfterStep, select]);
  const forgetProblem = useCallback(() => setProblem(undefined), []);
  return { actions, problem, forgetProblem, sent, unsent };
}
