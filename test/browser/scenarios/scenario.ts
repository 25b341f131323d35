// What a scenario is, and the steps that several of them share.
import type { ShownMessage } from "../page/chat-view.tsx";
import type { Stage } from "../stage.ts";
import { type Tab, textOf } from "../tab.ts";

export interface Scenario {
  readonly name: string;
  /**
   * Drives the tabs and says what must be stored. That every tab shows it is checked by `agree`, and once more by the
   * runner at the end. The second tab opened follows what the first one does.
   */
  play(stage: Stage): Promise<void>;
}

export async function askAndWait(tab: Tab, question: string, answer: string): Promise<void> {
  await tab.send(question);
  await tab.untilShows(answer);
  await tab.untilIdle();
}

export async function untilAllShow(tabs: readonly Tab[], text: string, deadlineMs?: number): Promise<void> {
  for (const tab of tabs) await tab.untilShows(text, deadlineMs);
}

/** Role and text of each message. */
export function outline(messages: readonly ShownMessage[]): string[] {
  return messages.map((message) => `${message.role}: ${textOf(message)}`);
}

export function callStates(messages: readonly ShownMessage[]): string[] {
  return messages.flatMap(({ parts }) =>
    parts.flatMap(({ type, toolCallId, state }) => (toolCallId === undefined ? [] : [`${type} ${state}`]))
  );
}
