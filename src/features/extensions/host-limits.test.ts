// How much one call of an extension may ask of its host, whatever its permissions are.
import { expect, test, vi } from "vitest";
import { createTestLoader } from "../../testing/index.ts";
import { hostFunctions, type ExtensionConversation, type ExtensionMessage } from "./host-bridge.ts";
import { ExtensionManager } from "./index.ts";
import { answeredValue } from "./isolate-call.ts";
import { checkManifest } from "./manifest.ts";

const manifest = checkManifest({
  name: "busy",
  version: "1",
  permissions: {
    network: ["api.example.com"],
    workspace: "read-write",
    messages: "read",
    session: { sendMessage: true }
  }
});

const workspace = { readFile: () => "text", writeFile: vi.fn(), readDir: () => [], rm: () => 0, stat: () => null };

function open({ fetch, messages = [] }: { fetch?: () => Promise<Response>; messages?: ExtensionMessage[] } = {}) {
  const sendMessage = vi.fn(async () => undefined);
  // What these calls do not use is not there.
  const conversation = { messages: () => messages, sendMessage } as Partial<ExtensionConversation>;
  const init = { workspace, conversation: conversation as ExtensionConversation, fetch };
  const { call } = hostFunctions(manifest, init, new AbortController().signal);
  return { call: (name: string, ...args: unknown[]) => call(name, args), sendMessage };
}

test("200 calls are answered and not one more", async () => {
  const { call } = open();
  for (let n = 0; n < 200; n++) expect(await call("readFile", "/a")).toEqual({ value: "text" });
  expect(await call("readFile", "/a")).toEqual({ error: "Extension error: at most 200 calls are answered." });
});

test("50 requests are sent and not one more", async () => {
  const fetch = vi.fn(async () => new Response("ok"));
  const { call } = open({ fetch });
  for (let n = 0; n < 50; n++) await call("fetch", "https://api.example.com/");
  expect(await call("fetch", "https://api.example.com/")).toEqual({
    error: "Extension error: at most 50 requests are sent."
  });
  expect(fetch).toHaveBeenCalledTimes(50);
});

test("a response of more than 10 MB is refused", async () => {
  const { call } = open({ fetch: async () => new Response(new Uint8Array(10 * 1024 * 1024 + 1)) });
  expect(await call("fetch", "https://api.example.com/")).toEqual({ error: expect.stringContaining("10485760 bytes") });
});

test("a file of more than 1,000,000 characters and a message of more than 100,000 are refused", async () => {
  const { call, sendMessage } = open();
  expect(await call("writeFile", "/a", "x".repeat(1_000_000))).toEqual({ value: undefined });
  expect(await call("writeFile", "/a", "x".repeat(1_000_001))).toEqual({ error: expect.stringContaining("1000000") });
  expect(await call("sendMessage", "x".repeat(100_001))).toEqual({ error: expect.stringContaining("100000") });
  expect([workspace.writeFile.mock.calls.length, sendMessage.mock.calls.length]).toEqual([1, 0]);
});

test("of the messages the newest are read: 1,000 of them, or 1,000,000 characters", async () => {
  const said = (count: number, chars: number) =>
    Array.from({ length: count }, (_, at) => ({ id: `m${at}`, role: "user", content: "x".repeat(chars) }));
  const read = async (messages: ExtensionMessage[]) => {
    const answer = await open({ messages }).call("getMessages");
    return "value" in answer ? (answer.value as ExtensionMessage[]).map(({ id }) => id) : [];
  };
  // Newest first is how the conversation gives them; the extension has them in their order.
  expect((await read(said(1_500, 1))).slice(0, 2)).toEqual(["m999", "m998"]);
  expect(await read(said(5, 400_000))).toEqual(["m1", "m0"]);
});

test("an extension with more than 50 tools is refused", async () => {
  const tools = (count: number) => Array.from({ length: count }, (_, at) => `t${at}: { execute: () => ${at} }`).join();
  const manager = new ExtensionManager({ loader: createTestLoader() });
  const many = { name: "many", version: "1" };
  await expect(manager.load(many, `({ tools: { ${tools(51)} } })`)).rejects.toThrow("at most 50 tools");
  expect((await manager.load(many, `({ tools: { ${tools(50)} } })`)).tools).toHaveLength(50);
});

test("an answer of more than 10,000,000 characters is refused, and one of as many is read", () => {
  const answer = (chars: number) => ({ value: JSON.stringify("x".repeat(chars - 2)) });
  expect(answeredValue(answer(10_000_000))).toHaveLength(9_999_998);
  expect(() => answeredValue(answer(10_000_001))).toThrow("more than 10000000 characters");
});
