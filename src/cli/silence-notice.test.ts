import { expect, test } from "vitest";
import { sayWhenSilent } from "./silence-notice.ts";
import type { FollowedClient } from "./turn-end.ts";

test("a silence is said once, however often the client shows something new, and the next one again", () => {
  const listeners = new Set<() => void>();
  let silentSince: number | undefined = 1_000;
  const client = {
    getSnapshot: () => ({ silentSince }),
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    }
  } as object as FollowedClient;
  const become = (since: number | undefined) => {
    silentSince = since;
    for (const listener of listeners) listener();
  };
  const lines: string[] = [];

  const end = sayWhenSilent(client, (line) => lines.push(line));
  become(1_000);
  become(1_000);
  expect(lines).toHaveLength(1);

  become(undefined);
  become(61_000);
  become(61_000);
  expect(lines).toHaveLength(2);
  expect(lines[1]).not.toBe(lines[0]);

  // The same silence, shown again after the model spoke, is one of its own.
  become(undefined);
  become(61_000);
  expect(lines).toHaveLength(3);

  end();
  become(90_000);
  expect(lines).toHaveLength(3);
});
