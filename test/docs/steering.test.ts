// The classes of docs/chat.md and the function of docs/client.md that steer, run.
import { tool } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { createTestHost, reply, scriptedModel, text, toolCall } from "everthink/testing";
import { Network } from "../node/client-kit.ts";
import { storedMessages, textsOf, user } from "../kit/messages.ts";
import { Careful } from "./examples/steering-hook.ts";
import { changeMyMind } from "./examples/client-steering.ts";
import { Researcher } from "./examples/steering.ts";

const held = Promise.withResolvers<void>();

class Subject extends Researcher {
  override getModel() {
    return scriptedModel(({ prompt }) =>
      JSON.stringify(prompt).includes("found") ? reply(text("Five.")) : reply(toolCall("search", {}, { id: "c1" }))
    );
  }
  override getTools() {
    return { search: tool({ inputSchema: z.object({}), execute: async () => held.promise.then(() => "found") }) };
  }
}

test("the researcher narrows what it searches for, and a person takes a message back", async () => {
  const host = createTestHost({ agents: { Subject } });
  const network = new Network(host);
  const client = network.client();
  await network.settle();
  void client.send("Everything.");
  await network.settle();
  const left = changeMyMind(client);
  await network.settle();
  expect(await left).toBe(0);
  expect(await (await host.get(Subject, "a")).narrow(5)).toBe("accepted");
  held.resolve();
  await host.idle();
  expect(textsOf(await storedMessages(host, "/agents/subject/a"))).toContain("Only the last 5 years.");
});

test("the careful one refuses two messages at once", async () => {
  class Silent extends Careful {
    override getModel() {
      return scriptedModel([]);
    }
  }
  const host = createTestHost({ agents: { Silent } });
  const agent = await host.get(Silent, "a");
  await expect(agent.steer([user("u1"), user("u2")])).rejects.toThrow("One message at a time");
});
