// Conversations by the day they were last used, newest first, with the names people give to recent days. Pure.

/** One line of the list. */
export interface ConversationEntry {
  readonly id: string;
  readonly title: string;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
  /** Questions in it that wait for a person. */
  readonly waiting?: number;
}

export interface DayGroup {
  readonly label: string;
  readonly conversations: readonly ConversationEntry[];
}

const DAY_MS = 86_400_000;
const WEEKDAY_UP_TO_DAYS = 6;

export function dayGroups(conversations: readonly ConversationEntry[], now: number): DayGroup[] {
  const newestFirst = conversations.toSorted((left, right) => right.updatedAt - left.updatedAt);
  const groups = new Map<string, ConversationEntry[]>();
  for (const conversation of newestFirst) {
    const label = dayLabel(conversation.updatedAt, now);
    groups.set(label, [...(groups.get(label) ?? []), conversation]);
  }
  return [...groups].map(([label, members]) => ({ label, conversations: members }));
}

/**
 * A day as people call it: "Today", "Yesterday", "Monday", "3 May".
 *
 * @example
 * <h3>{dayLabel(updatedAt, Date.now())}</h3>
 */
export function dayLabel(at: number, now: number): string {
  // Rounded, because a day on which clocks are changed has 23 or 25 hours.
  const daysAgo = Math.round((startOfDay(now) - startOfDay(at)) / DAY_MS);
  if (daysAgo <= 0) return "Today";
  if (daysAgo === 1) return "Yesterday";
  const date = new Date(at);
  if (daysAgo <= WEEKDAY_UP_TO_DAYS) return date.toLocaleDateString("en", { weekday: "long" });
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  return date.toLocaleDateString("en", { day: "numeric", month: "long", ...(!isThisYear && { year: "numeric" }) });
}

function startOfDay(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}
