// Versions of messages on the SQLite of workerd, whose rules for statements are its own.
import { evictDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { env, rawStub, uniqueName } from "./world.ts";
import { user } from "../kit/messages.ts";

const ids = (messages: readonly UIMessage[]) => messages.map(({ id }) => id);

test("versions are listed and chosen in workerd, and a choice outlives an eviction", async () => {
  const stub = rawStub(env.Talker, uniqueName());
  await stub.addMessages([user("u1"), user("a1"), user("u2")]);
  await stub.addMessages([user("b1")], { parentId: "u1" });
  expect(await stub.listBranches()).toEqual({ b1: ["a1", "b1"] });
  await stub.selectBranch("a1");
  await evictDurableObject(stub);
  expect(ids(await stub.getMessages())).toEqual(["u1", "a1", "u2"]);
  expect(await stub.listBranches()).toEqual({ a1: ["a1", "b1"] });
});
