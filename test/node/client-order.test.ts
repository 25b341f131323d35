import { expect, test } from "vitest";
import { reply, text, toolCall } from "../../src/testing/index.ts";
import { shown } from "./client-kit.ts";
import { later, open, ready, scene } from "./client-subject.ts";

test("an approval given offline is delivered before the question asked after it", async () => {
  const { host, network } = open(
    reply(text("Asking. "), toolCall("mail", { to: "ada" }, { id: "c1" })),
    reply(text("Mailed.")),
    reply(text("Fine."))
  );
  const client = await ready(network);
  await client.send("Mail ada");
  await later(host, network);
  await network.cut();
  void client.approve("c1");
  void client.send("How are you?");
  await network.reconnect();
  await later(host, network, 120_000);
  expect(scene.effects).toEqual(["mail ada"]);
  expect(shown(client)).toEqual([]);
});
test("online approval at once followed by a question", async () => {
  const { host, network } = open(
    reply(text("Asking. "), toolCall("mail", { to: "ada" }, { id: "c1" })),
    reply(text("Mailed.")),
    reply(text("Fine."))
  );
  const client = await ready(network);
  await client.send("Mail ada");
  await later(host, network);
  void client.approve("c1");
  void client.send("How are you?");
  await later(host, network, 120_000);
  expect(scene.effects).toEqual(["mail ada"]);
  expect(shown(client)).toEqual([]);
});
