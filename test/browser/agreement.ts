// The promise of every scenario: each tab shows the stored messages, with the same ids, in the same order, with the
// same parts, now and after a reload.
import { isDeepStrictEqual } from "node:util";
import type { Conversation } from "./conversation.ts";
import type { ShownMessage } from "./page/chat-view.tsx";
import type { Tab } from "./tab.ts";
import { until } from "./until.ts";

/** What is compared: nothing of a part is left out. */
function compared(messages: readonly ShownMessage[]): unknown[] {
  return messages.map(({ id, role, parts }) => ({ id, role, parts }));
}

/** Waits until nothing is under way; then differences are final, apart from rendering. */
export async function expectAgreement(conversation: Conversation, tabs: readonly Tab[]): Promise<ShownMessage[]> {
  for (const tab of tabs) await tab.untilIdle();
  const stored = await conversation.messages();
  for (const tab of tabs) {
    await tab.fence();
    await expectShown(tab, stored);
  }
  const [first] = tabs;
  if (first !== undefined) {
    await first.reload();
    await first.fence();
    await expectShown(first, stored, "after a reload ");
  }
  if (!isDeepStrictEqual(await conversation.messages(), stored)) throw new Error("The stored messages changed later.");
  return stored;
}

async function expectShown(tab: Tab, stored: readonly ShownMessage[], when = ""): Promise<void> {
  const expected = compared(stored);
  await until({
    what: `${tab.label} ${when}shows the stored messages`,
    look: () => tab.view(),
    fits: (view) => view !== undefined && isDeepStrictEqual(compared(view.messages), expected),
    tell: (view) => difference(expected, compared(view?.messages ?? [])),
    // Frames have arrived; the page may put off rendering them for a moment.
    deadlineMs: RENDER_DEADLINE_MS
  });
}

/** From the first message that is not the same. */
function difference(stored: readonly unknown[], shown: readonly unknown[]): string {
  const first = stored.findIndex((message, index) => !isDeepStrictEqual(message, shown[index]));
  const from = first < 0 ? stored.length : first;
  const tell = (messages: readonly unknown[]): string => JSON.stringify(messages.slice(from), null, 1);
  return `From message ${from} on, stored: ${tell(stored)}\nshown: ${tell(shown)}`;
}

const RENDER_DEADLINE_MS = 3_000;
