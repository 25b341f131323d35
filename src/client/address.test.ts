import { describe, expect, test } from "vitest";
import { agentUrl, messagesUrl, socketUrl, type AgentAddress } from "./address.ts";
import { ClientAddressError } from "./errors.ts";

const PAGE = "https://app.example";

test.each<[AgentAddress, string]>([
  [{ agent: "ChatRoom", name: "a" }, "https://app.example/agents/chat-room/a"],
  [{ agent: "chat-room" }, "https://app.example/agents/chat-room/default"],
  [{ host: "localhost:8787", agent: "AIAssistant", name: "a b" }, "http://localhost:8787/agents/a-i-assistant/a%20b"],
  [{ host: "192.168.1.4:80", agent: "Room", name: "user:1" }, "http://192.168.1.4/agents/room/user:1"],
  [{ host: "chat.example", agent: "Room", prefix: "api/v1" }, "https://chat.example/api/v1/room/default"],
  [{ host: "http://chat.example/", agent: "Room" }, "http://chat.example/agents/room/default"],
  [{ host: "wss://chat.example", agent: "Room" }, "https://chat.example/agents/room/default"],
  [
    { agent: "Room", name: "a", sub: [{ agent: "Desk", name: "x/y" }] },
    "https://app.example/agents/room/a/sub/desk/x%2Fy"
  ],
  [{ url: "ws://localhost:1/mine/" }, "http://localhost:1/mine"],
  [{ url: "/mine" }, "https://app.example/mine"]
])("%j is %s", (address, expected) => {
  expect(agentUrl(address, PAGE)).toBe(expected);
});

describe("what is no address", () => {
  test.each<AgentAddress>([
    { agent: "" },
    { agent: "Room", name: "a/b" },
    { agent: "Room", name: "" },
    { agent: "Room", name: "a?b" },
    { url: "ftp://x/y" },
    { url: "http://" }
  ])("%j", (address) => {
    expect(() => agentUrl(address, PAGE)).toThrow(ClientAddressError);
  });

  test("a class without a host, outside a page", () => {
    expect(() => agentUrl({ agent: "Room" })).toThrow("needs a host");
  });
});

test("the socket and the stored messages have the same query, but for the connection's id", () => {
  const agent = "https://chat.example/agents/room/a?tenant=1";
  expect(socketUrl(agent, { token: "t", none: undefined, _pk: "id" })).toBe(
    "wss://chat.example/agents/room/a?tenant=1&token=t&_pk=id"
  );
  expect(messagesUrl(agent, { token: "t" })).toBe("https://chat.example/agents/room/a/get-messages?tenant=1&token=t");
});
