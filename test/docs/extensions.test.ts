// The example of docs/extensions.md, run.
import { expect, test } from "vitest";
import {
  createScript,
  createTestHost,
  createTestLoader,
  reply,
  scriptedModel,
  text,
  toolCall
} from "everthink/testing";
import { Tinkerer } from "./examples/extensions.ts";
import { storedMessages, user } from "../kit/messages.ts";

interface Part {
  readonly toolCallId?: string;
  readonly output?: unknown;
}

const SOURCE = `({ tools: { shout: { parameters: { text: { type: "string" } }, required: ["text"], execute: ({ text }) => text.toUpperCase() } } })`;

test("the model writes an extension, a human approves it, and the next turn uses it, after a restart too", async () => {
  const script = createScript([
    reply(toolCall("load_extension", { name: "voice", version: "1.0.0", source: SOURCE }, { id: "l" })),
    reply(text("Loaded.")),
    reply(toolCall("voice_shout", { text: "hello" }, { id: "s" })),
    reply(text("Done."))
  ]);
  class Scripted extends Tinkerer {
    override getModel() {
      return scriptedModel(script);
    }
    async auditLog() {
      return this.workspace.readFile("/audit.log");
    }
  }
  const host = createTestHost({ agents: { Scripted }, env: { LOADER: createTestLoader() } });
  const agent = await host.get(Scripted, "a");
  const socket = await host.connect("/agents/scripted/a");
  const ask = (id: string) => agent.saveMessages([user(id)]);
  await ask("write");
  const parts = async () => {
    const messages = (await storedMessages(host, "/agents/scripted/a")) as { parts: Part[] }[];
    return messages.flatMap((message) => message.parts);
  };
  const waiting = (await parts()).find(({ toolCallId }) => toolCallId === "l");
  expect(waiting).toMatchObject({ state: "approval-requested", input: { source: SOURCE } });
  socket.send({ type: "cf_agent_tool_approval", toolCallId: "l", approved: true, autoContinue: true });
  await host.advance(1_000);
  expect((await parts()).find(({ toolCallId }) => toolCallId === "l")?.output).toMatchObject({ loaded: true });
  await host.restart();
  await (await host.get(Scripted, "a")).saveMessages([user("use")]);
  expect((await parts()).find(({ toolCallId }) => toolCallId === "s")?.output).toBe("HELLO");
  const log = await (await host.get(Scripted, "a")).auditLog();
  expect(log).toBe("load_extension done\nvoice_shout done\n");
});
