// What a person does, guarded: whatever is refused is said in one sentence above the composer, and nothing is thrown
// into the page.
import { useMemo, useState } from "react";
import type { UseThinkResult } from "everthink/react";
import type { Assistant } from "../../agents/assistant/agent.ts";
import type { MessageActions } from "./message-actions.ts";

export interface ConversationActions extends MessageActions {
  send(parts: Parameters<UseThinkResult<Assistant>["send"]>[0]): void;
  /** Hands it over: it is answered whether or not the page stays. */
  submit(parts: Parameters<UseThinkResult<Assistant>["submit"]>[0]): void;
  retry(): void;
  stop(): void;
}

type Doing = Pick<UseThinkResult<Assistant>, "send" | "submit" | "regenerate" | "edit" | "stop">;

export function useActions(
  { send, submit, regenerate, edit, stop }: Doing,
  select: (messageId: string) => Promise<void>
): { actions: ConversationActions; problem: string | undefined; forgetProblem: () => void } {
  const [problem, setProblem] = useState<string>();
  const actions = useMemo(() => {
    const guard = async (act: () => Promise<unknown>) => {
      setProblem(undefined);
      try {
        await act();
      } catch (error) {
        setProblem(error instanceof Error ? error.message : String(error));
      }
    };
    return {
      send: (parts) => void guard(() => send(parts)),
      submit: (parts) => void guard(() => submit(parts)),
      retry: () => void guard(() => regenerate()),
      stop: () => void guard(() => stop()),
      regenerate: (messageId) => void guard(() => regenerate(messageId)),
      edit: (messageId, parts) => void guard(() => edit(messageId, parts)),
      selectVersion: (messageId) => void guard(() => select(messageId))
    } satisfies ConversationActions;
  }, [send, submit, regenerate, edit, stop, select]);
  return { actions, problem, forgetProblem: () => setProblem(undefined) };
}
