import { expect, test } from "vitest";
import type { McpTurnMembers } from "./capability.ts";
import { MCP_WAIT_MS, waitOf } from "./feature.ts";

test.each<[McpTurnMembers["waitForMcpConnections"], number | undefined]>([
  [false, undefined],
  [true, MCP_WAIT_MS],
  [{ timeout: 50 }, 50],
  [{}, MCP_WAIT_MS]
])("waiting for MCP servers: %j", (setting, expected) => {
  expect(waitOf(setting)).toBe(expected);
});
