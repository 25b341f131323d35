import { expect, test } from "vitest";
import { pathBelowAgent } from "./own-path.ts";

const below = (path: string, name = "a", isFacet = false) =>
  pathBelowAgent(`http://x${path}`, {
    identity: { className: "ChatRoom", name, isFacet },
    env: { ROOMS: {}, OTHER: "text" }
  });

test.each([
  ["/agents/chat-room/a/approvals", "a", "/approvals"],
  ["/agents/rooms/a/approvals?x=1", "a", "/approvals"],
  ["/agents/rooms/a", "a", "/"],
  ["/api/v1/rooms/a/b/c", "a", "/b/c"],
  ["/rooms/a/b", "a", "/b"],
  ["/agents/rooms/a/rooms/a/b", "a", "/rooms/a/b"],
  ["/agents/rooms/rooms/b", "rooms", "/b"],
  ["/agents/rooms/a%20b/c", "a b", "/c"],
  ["/agents/rooms/%zz/c", "%zz", "/c"],
  ["/a/approvals", "a", undefined],
  ["/approvals", "a", undefined],
  ["/agents/stranger/a/approvals", "a", undefined],
  ["/agents/rooms/b/approvals", "a", undefined]
])("below the address in %s of the agent %j lies %j", (path, name, expected) => {
  expect(below(path, name)).toBe(expected);
});

test("a sub-agent is given only what is below its address", () => {
  expect(below("/approvals", "a", true)).toBe("/approvals");
  expect(below("/rooms/a/approvals", "a", true)).toBe("/rooms/a/approvals");
});
