// The test of docs/messengers.md, and what its channels do.
import { afterEach, expect, test, vi } from "vitest";
import { createScript, createTestHost, FakeTelegram, reply, scriptedModel, text, type Script } from "everthink/testing";
import { Concierge, paged, Support } from "./messengers.ts";

await import("@chat-adapter/telegram");
let script: Script = createScript([reply(text("Hello, Ada!"))]);
const SECRETS = { TELEGRAM_BOT_TOKEN: "1:test", TELEGRAM_WEBHOOK_SECRET_TOKEN: "secret" };

class ScriptedSupport extends Support {
  override getModel() {
    return scriptedModel(script);
  }
}

class ScriptedConcierge extends Concierge {
  override getModel() {
    return scriptedModel(script);
  }
}

afterEach(() => {
  vi.unstubAllGlobals();
});

test("the bot says hello", async () => {
  const telegram = new FakeTelegram({ token: "1:test", secretToken: "secret" });
  vi.stubGlobal("fetch", telegram.fetch);
  const host = createTestHost({ agents: { Support: ScriptedSupport }, env: SECRETS });
  const url = "http://localhost/agents/support/main/messengers/telegram/webhook";
  await host.fetch(telegram.says("Hello", { url }));
  await host.advance(5_000);
  expect(telegram.texts()).toEqual(["Hello, Ada!"]);
});

test("a channel has its own instructions and surface", async () => {
  script = createScript([reply(text("Yes."))]);
  const host = createTestHost({ agents: { Concierge: ScriptedConcierge } });
  const agent = await host.get(ScriptedConcierge, "main");
  await agent.runTurn({ input: "Are you there?", channel: "pager" });
  expect(JSON.stringify(script.calls[0]?.prompt)).toContain("Answer in one line.");
  await agent.deliverNotice("Fire.", { channel: "pager" });
  expect(paged).toEqual(["Fire."]);
});
