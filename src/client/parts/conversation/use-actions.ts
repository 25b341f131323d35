// What a person does, guarded: whatever is refused is said in one sentence above the composer, and nothing is thrown
// into the page.
import { useCallback, useMemo, useState } from "react";
import type { MessageActions } from "../message/message-actions.ts";
import type { UseThinkResult } from "../think.ts";

export interface ConversationActions extends MessageActions {
  send(parts: Parameters<UseThinkResult<unknown>["send"]>[0]): void;
  /** Hands it over: it is answered whether or not the page stays. */
  submit(parts: Parameters<UseThinkResult<unknown>["submit"]>[0]): void;
  retry(): void;
  stop(): void;
}

export interface Acting {
  readonly actions: ConversationActions;
  /** Why the last of them was refused. */
  readonly problem: string | undefined;
  forgetProblem(): void;
  /** How often this page has sent something. The end of the conversation is shown then. */
  readonly sent: number;
}

type Doing = Pick<UseThinkResult<unknown>, "send" | "submit" | "regenerate" | "edit" | "stop">;

export function useActions(
  { send, submit, regenerate, edit, stop }: Doing,
  select: (messageId: string) => Promise<void>
): Acting {
  const [problem, setProblem] = useState<string>();
  const [sent, setSent] = useState(0);
  const actions = useMemo(() => {
    const guard = async (act: () => Promise<unknown>) => {
      setProblem(undefined);
      try {
        await act();
      } catch (error) {
        setProblem(error instanceof Error ? error.message : String(error));
      }
    };
    const sending = (act: () => Promise<unknown>) => {
      setSent((before) => before + 1);
      void guard(act);
    };
    return {
      send: (parts) => sending(() => send(parts)),
      submit: (parts) => void guard(() => submit(parts)),
      retry: () => void guard(() => regenerate()),
      stop: () => void guard(() => stop()),
      regenerate: (messageId) => void guard(() => regenerate(messageId)),
      edit: (messageId, parts) => void guard(() => edit(messageId, parts)),
      selectVersion: (messageId) => void guard(() => select(messageId))
    } satisfies ConversationActions;
  }, [send, submit, regenerate, edit, stop, select]);
  const forgetProblem = useCallback(() => setProblem(undefined), []);
  return { actions, problem, forgetProblem, sent };
}
