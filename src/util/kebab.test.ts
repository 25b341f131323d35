import { expect, test } from "vitest";
import { kebabCase } from "./kebab.ts";

test.each([
  ["ChatRoom", "chat-room"],
  ["TestOAuthAgent", "test-o-auth-agent"],
  ["AIAssistant", "a-i-assistant"],
  ["LOUD_AGENT", "loud-agent"],
  ["MY_AGENT", "my-agent"],
  ["SUB", "sub"],
  ["Sub", "sub"],
  ["Sub_", "sub"],
  ["my_agent", "my-agent"],
  ["Counter", "counter"],
  ["A", "a"],
  ["agent2", "agent2"]
])("%s is written %s in a URL, as published clients write it", (name, expected) => {
  expect(kebabCase(name)).toBe(expected);
});
