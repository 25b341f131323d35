import { expect, test, vi } from "vitest";
import { createTestHost } from "everthink/testing";
import worker, { Assistant } from "./examples/security.ts";

test("the route of the security page lets in the owner, from the pages it names, and no other visitor", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const host = createTestHost({ agents: { Assistant }, worker });
  const ada = { Cookie: "session=ada" };
  const status = async (path: string, headers: Record<string, string>) => (await host.fetch(path, { headers })).status;
  expect(await status("/agents/assistant/ada/get-messages", ada)).toBe(200);
  expect(await status("/agents/assistant/bob/get-messages", ada)).toBe(403);
  expect(await status("/agents/assistant/ada/get-messages", {})).toBe(403);
  const upgrade = { ...ada, Upgrade: "websocket" };
  expect(await status("/agents/assistant/ada", { ...upgrade, Origin: "https://app.example.com" })).toBe(101);
  expect(await status("/agents/assistant/ada", { ...upgrade, Origin: "https://evil.example" })).toBe(403);
  expect(await status("/agents/assistant/bob", upgrade)).toBe(403);
  expect(await status("/elsewhere", ada)).toBe(404);
});
