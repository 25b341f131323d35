// When an answer is over, for a command that shows it. A lost connection is waited out: the client comes back by itself.
import type { ThinkClient } from "../client/index.ts";

export type FollowedClient = Pick<ThinkClient, "getSnapshot" | "subscribe">;

/** What a decision leads to begins within this time, or there is nothing to follow. */
const BEGIN_LIMIT_MS = 5_000;
const BUSY: readonly string[] = ["running", "queued", "recovering"];

export function isBusy(client: FollowedClient): boolean {
  return BUSY.includes(client.getSnapshot().status);
}

/** When nothing is running or about to. */
export function settled(client: FollowedClient): Promise<void> {
  return until(client, () => {
    const { connection } = client.getSnapshot();
    return connection === "refused" || (connection === "open" && !isBusy(client));
  });
}

/**
 * Decides, and waits until the agent goes on: a decision is confirmed before the turn that follows it is seen. While
 * other calls of the turn wait too, none follows.
 */
export async function decided(client: FollowedClient, decision: () => Promise<unknown>): Promise<void> {
  let hasBegun = false;
  const leave = client.subscribe(() => (hasBegun ||= isBusy(client)));
  try {
    await decision();
    const isOver = () => hasBegun || isBusy(client) || client.getSnapshot().pendingApprovals.length > 0;
    await until(client, isOver, BEGIN_LIMIT_MS);
  } finally {
    leave();
  }
}

function until(client: FollowedClient, isOver: () => boolean, limitMs?: number): Promise<void> {
  return new Promise((end) => {
    const finish = () => {
      leave();
      clearTimeout(timer);
      end();
    };
    const look = () => {
      if (isOver()) finish();
    };
    const leave = client.subscribe(look);
    const timer = limitMs === undefined ? undefined : setTimeout(finish, limitMs);
    queueMicrotask(look);
  });
}
