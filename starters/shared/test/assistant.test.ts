import { createTestHost } from "everthink/testing";
import { expect, test } from "vitest";
import { answered, questions } from "./questions.ts";
import { Scripted } from "./scripted.ts";

test("answers, and has the same conversation after the process was killed", async () => {
  const host = createTestHost({ agents: { Assistant: Scripted } });
  const assistant = await host.get(Scripted, "ada");
  for (const text of questions) await assistant.saveMessages([userMessage(text)]);
  const before = JSON.stringify(await assistant.getMessages());
  expect(before).toContain(answered);
  await host.restart();
  expect(JSON.stringify(await (await host.get(Scripted, "ada")).getMessages())).toBe(before);
});

function userMessage(text: string) {
  return { id: crypto.randomUUID(), role: "user" as const, parts: [{ type: "text" as const, text }] };
}
