// What stands above the field, from what the agent says and in which order it says it.
import { expect, test } from "vitest";
import type { ClientReceipt } from "../../receipts.ts";
import { receiptsByMessage } from "./receipt-words.ts";
import { beginWaiting, nextWaiting, type WaitingSource } from "./waiting-messages.ts";

const parts = (text: string) => [{ type: "text" as const, text }];
const receipt = (id: string, change: Partial<ClientReceipt> = {}): ClientReceipt => ({
  id,
  kind: "steer",
  state: "accepted",
  at: 0,
  messageIds: [`m-${id}`],
  messages: [{ id: `m-${id}`, role: "user", parts: parts(id) }],
  ...change
});
const ended = (id: string, change: Partial<ClientReceipt>): ClientReceipt => {
  const { messages: _, ...rest } = receipt(id, change);
  return rest;
};
const EMPTY: WaitingSource = { queued: [], receipts: [], unsent: [] };

/** The chips after each of these, one line each. */
function chips(...sources: Partial<WaitingSource>[]): string[] {
  const [first = EMPTY, ...others] = sources.map((source) => ({ ...EMPTY, ...source }));
  const last = others.reduce(nextWaiting, beginWaiting(first));
  return last.messages.map(({ id, words }) => `${id}: ${words}`);
}

const unsent = [{ id: "a", kind: "steer" as const, parts: parts("a") }];

test.each<[string, Partial<WaitingSource>[], string[]]>([
  ["on its way", [{ unsent }], ["a: sending"]],
  [
    "accepted, and its promise not yet resolved",
    [{ unsent }, { unsent, queued: [receipt("a")] }],
    ["a: waiting 1 of 1"]
  ],
  ["two", [{ queued: [receipt("a"), receipt("b")] }], ["a: waiting 1 of 2", "b: waiting 2 of 2"]],
  [
    "applied",
    [
      { queued: [receipt("a"), receipt("b")] },
      { queued: [receipt("b")], receipts: [ended("a", { state: "applied", step: 3 })] }
    ],
    ["a: applied at step 3", "b: waiting 1 of 1"]
  ],
  ["a turn at once", [{ unsent }, { unsent, receipts: [ended("a", { state: "started" })] }], ["a: became a turn"]],
  [
    "passed on, and back again",
    [{ queued: [receipt("a")] }, { receipts: [ended("a", { state: "passed" })] }, { queued: [receipt("a")] }],
    ["a: waiting 1 of 1"]
  ],
  ["taken back", [{ queued: [receipt("a")] }, { receipts: [ended("a", { state: "withdrawn" })] }], []],
  [
    "cleared away",
    [{ queued: [receipt("a")] }, { receipts: [ended("a", { state: "dropped" })] }],
    ["a: not read: the conversation was stopped or cleared"]
  ],
  ["ended before the page came", [{ receipts: [ended("a", { state: "started" })] }], []],
  [
    "not known for a moment, while the connection is a new one",
    [{ queued: [receipt("a")] }, {}, { queued: [receipt("a")] }],
    ["a: waiting 1 of 1"]
  ]
])("a message that is %s", (_name, sources, expected) => {
  expect(chips(...sources)).toEqual(expected);
});

test("what became of a message stands with it in the conversation; what is not in it has nothing to stand with", () => {
  const receipts = [
    ended("a", { state: "applied", step: 1 }),
    ended("b", { state: "started", messageIds: ["b1", "b2"] }),
    ended("c", { state: "dropped" }),
    ended("d", { state: "withdrawn" })
  ];
  expect([...receiptsByMessage(receipts)]).toEqual([
    ["m-a", "Applied at step 1"],
    ["b1", "Became a turn"],
    ["b2", "Became a turn"]
  ]);
});
