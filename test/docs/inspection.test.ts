import { expect, test, vi } from "vitest";
import { createTestHost, reply, scriptedModel, text } from "everthink/testing";
import { Assistant, newestTurn } from "./examples/inspection.ts";
import { user } from "../kit/messages.ts";

test("the example of the inspection page reads the newest turn, and only with the token", async () => {
  vi.spyOn(Assistant.prototype, "getModel").mockReturnValue(scriptedModel(() => reply(text("Hello."))));
  const host = createTestHost({ agents: { Assistant }, env: { ADMIN_TOKEN: "token" } });
  const agent = await host.get(Assistant, "a");
  await agent.saveMessages([user("u", "Hi")]);
  const ask = (url: string, init: RequestInit) => host.fetch(url, init);
  expect(await newestTurn("/agents/assistant/a", "token", ask)).toMatchObject({ status: "completed", deaths: 0 });
  const refused = await host.fetch("/agents/assistant/a/inspect/v1/agent", { headers: { Authorization: "Bearer no" } });
  expect(refused.status).toBe(403);
});
