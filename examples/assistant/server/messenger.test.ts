import { expect, test } from "vitest";
import type { AssistantState } from "../shared/demo.ts";
import { SimulatedMessenger } from "./messenger.ts";

test("messages that are sent at the same time are all in the chat, and each is delivered", async () => {
  const delivered: string[] = [];
  const agent = {
    name: "a",
    state: { model: { provider: "offline", label: "" } } as AssistantState,
    setState: (state: AssistantState) => void (agent.state = state)
  };
  const deliver = async (webhook: Request) => {
    const { message } = (await webhook.json()) as { message: { text: string } };
    delivered.push(message.text);
    return new Response("ok");
  };
  const messenger = new SimulatedMessenger({ agent, deliver });
  await Promise.all([messenger.say("one"), messenger.say("two"), messenger.say("three")]);
  expect(agent.state.messenger?.chats.said.map(({ text }) => text)).toEqual(["one", "two", "three"]);
  expect(delivered.sort()).toEqual(["one", "three", "two"]);
});

test("a message that the agent does not take is an error for the person who sent it", async () => {
  const agent = { name: "a", state: {} as AssistantState, setState: () => undefined };
  const messenger = new SimulatedMessenger({ agent, deliver: async () => new Response("no", { status: 503 }) });
  await expect(messenger.say("hello")).rejects.toThrow("The agent did not take the message (503).");
});
