// The examples of docs/client.md do what the page says.
import { expect, test } from "vitest";
import {
  createTestHost,
  createScript,
  fail,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script
} from "everthink/testing";
import { Network } from "../node/client-kit.ts";
import {
  browserTools,
  decideAll,
  openChat,
  Planner,
  planTrip,
  showVersion,
  useConversation
} from "./examples/client.ts";

let script: Script;

class Subject extends Planner {
  override getModel() {
    return scriptedModel(script);
  }
}

function stage(...steps: Parameters<typeof createScript>[0] & readonly unknown[]) {
  script = createScript(steps as Parameters<typeof createScript>[0]);
  const host = createTestHost({ agents: { Subject } });
  return { host, network: new Network(host) };
}

test("the chat of the client page shows its lines, answers again after a failure, and counts days", async () => {
  const { network } = stage(fail(new Error("down"), { statusCode: 400 }), reply(text("Fly.")));
  const lines: string[] = [];
  const client = openChat(network.options({}, "a"), (line) => lines.push(line));
  await network.settle();
  const planned = planTrip(client);
  for (let round = 0; round < 4; round += 1) await network.settle();
  expect(await planned).toBe(31);
  expect(lines).toContain("1 messages, queued");
  expect(lines.at(-1)).toBe("2 messages, settled");
  expect(client.getSnapshot().state).toEqual({ theme: "dark" });
  await decideAll(client, () => true);
});

test("the tools of the client page answer the model", async () => {
  const { host, network } = stage(
    reply(toolCall("screenSize", {}), toolCall("openDialog", { question: "Where?" })),
    reply(text("Here."))
  );
  const client = openChat(network.options({ tools: browserTools ?? {} }, "a"), () => undefined);
  await network.settle();
  void client.send("Ask.");
  await network.settle();
  await host.advance(1_000);
  await network.settle();
  expect(JSON.stringify(script.calls[1]?.prompt)).toMatch(/1280[^]*The user was asked: Where\?/);
  expect(client.getSnapshot().status).toBe("settled");
});

test("the versions of the client page are paged through in both directions", async () => {
  const { network } = stage(reply(text("Fly.")), reply(text("Sail.")));
  const client = openChat(network.options({}, "a"), () => undefined);
  await network.settle();
  void client.send("How?");
  await network.settle();
  void client.regenerate();
  await network.settle();
  const answer = () => client.getSnapshot().messages.at(-1);
  const page = async (step: 1 | -1) => {
    const shown = showVersion(client, answer()?.id ?? "", step);
    for (let round = 0; round < 3; round += 1) await network.settle();
    return [
      await shown,
      answer()
        ?.parts.map((part) => ("text" in part ? part.text : ""))
        .join("")
    ];
  };
  expect(await page(1)).toEqual(["2 of 2", "Sail."]);
  expect(await page(-1)).toEqual(["1 of 2", "Fly."]);
  expect(await page(1)).toEqual(["2 of 2", "Sail."]);
});

test("the hook of the client page is one", () => {
  // What it does is tested with React in test/node/client-react.test.ts.
  expect(useConversation).toBeTypeOf("function");
});
