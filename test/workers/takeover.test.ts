// Objects that the published packages of the original wrote, taken over inside workerd: its SQLite, its transactions, its
// alarm. What each kind of data becomes is tested on the in-process host.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import layoutA from "../takeover/fixtures/layout-a/Assistant.cut.sql?raw";
import layoutB from "../takeover/fixtures/layout-b/Assistant.cut.sql?raw";
import { env, fetchPath, rawStub, uniqueName } from "./world.ts";
import { storedMessages } from "../kit/messages.ts";

test.each([
  ["layout-a", layoutA],
  ["layout-b", layoutB]
])("an object of %s is taken over whole, at its alarm, and the turn that was cut off goes on", async (layout, dump) => {
  const name = uniqueName(layout);
  const stub = rawStub(env.Talker, name);
  await runInDurableObject(stub, async (_talker, { storage }) => {
    storage.transactionSync(() => {
      // Made when the object was built for this.
      storage.sql.exec("DROP TABLE cf_meta");
      for (const statement of dump.split("\n").filter((line) => line !== "")) storage.sql.exec(statement);
    });
    await storage.setAlarm(Date.now() + 60_000);
  });
  await evictDurableObject(stub);
  expect(await runDurableObjectAlarm(stub)).toBe(true);
  const stored = () => storedMessages({ fetch: fetchPath }, `/agents/talker/${name}`);
  const textOf = ({ parts }: UIMessage) => parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  await expect
    .poll(async () => (await stored()).map(textOf), { timeout: 15_000 })
    .toEqual(["hold This answer was cut off", expect.stringMatching(/^This You said /)]);
  const { kinds, lost } = (await stub.getTakeoverReport()) ?? { kinds: [], lost: ["no report"] };
  expect(lost).toEqual([]);
  expect(kinds).toContainEqual(expect.objectContaining({ kind: "turns", found: 1, carried: 1 }));
});
