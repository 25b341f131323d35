import { expect, test } from "vitest";
import type { AwaitedRetry } from "../client/index.ts";
import { sayPauses } from "./pause-notice.ts";
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

  const end = sayPauses(client, (line) => lines.push(line));
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

test("a pause before the next try is said once, with the reason and the time", () => {
  const listeners = new Set<() => void>();
  let retry: AwaitedRetry | undefined;
  const client = {
    getSnapshot: () => ({ retry }),
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    }
  } as object as FollowedClient;
  const lines: string[] = [];
  sayPauses(client, (line) => lines.push(line));
  const become = (next: AwaitedRetry | undefined) => {
    retry = next;
    for (const listener of listeners) listener();
  };
  const at = Date.now() + 20_000;
  become({ reason: "rate-limit", attempt: 2, of: 5, at });
  become({ reason: "rate-limit", attempt: 2, of: 5, at });
  become(undefined);
  become({ reason: "rate-limit", attempt: 3, of: 5, at: at + 40_000 });
  expect(lines).toEqual([
    expect.stringMatching(/^The provider asks to wait: next try in (20|19) s, attempt 2 of 5\.$/),
    expect.stringMatching(/^The provider asks to wait: next try in (60|59) s, attempt 3 of 5\.$/)
  ]);
});
