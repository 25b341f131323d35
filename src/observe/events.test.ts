import { expect, test } from "vitest";
import { channelName, channelOf, type ChannelKey } from "./events.ts";

test.each<[string, ChannelKey]>([
  ["mcp:client:connect", "mcp"],
  ["workflow:start", "workflow"],
  ["fiber:run:started", "fiber"],
  ["chat:transcript:repaired", "transcript"],
  ["chat:turn:start", "chat"],
  ["agent_tool:recovery:begin", "agentTool"],
  ["schedule:create", "schedule"],
  ["queue:create", "schedule"],
  ["message:request", "message"],
  ["tool:result", "message"],
  ["submission:create", "message"],
  ["action:ledger:settled", "message"],
  ["rpc", "rpc"],
  ["rpc:error", "rpc"],
  ["state:update", "state"],
  ["email:receive", "email"],
  ["channel:resolved", "channel"],
  ["notice:failed", "channel"],
  ["connect", "lifecycle"],
  ["destroy", "lifecycle"]
])("%s is published on %s", (type, channel) => {
  expect(channelOf(type)).toBe(channel);
});

test("the agentTool key stands for agents:agent_tool", () => {
  expect(channelName("agentTool")).toBe("agents:agent_tool");
  expect(channelName("chat")).toBe("agents:chat");
});
