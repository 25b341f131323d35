import { expect, test } from "vitest";
import { env, rawStub, uniqueName } from "./world.ts";
import { user } from "../kit/messages.ts";

test("what hooks are handed can be cloned, stored and returned over RPC in workerd", async () => {
  const recorder = rawStub(env.HookRecorder, uniqueName());
  const parts = [
    { type: "text" as const, text: "hello" },
    { type: "file" as const, mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" },
    { type: "file" as const, mediaType: "image/png", url: "https://example.com/cat.png" }
  ];
  await recorder.saveMessages([{ id: "u1", role: "user", parts }]);
  await recorder.saveMessages([user("u2", "fail")]);
  const handed = await recorder.handed();
  expect(handed.filter(({ problems }) => problems.length > 0)).toEqual([]);
  expect(await recorder.missing()).toBe(0);
  expect(await recorder.everything()).toHaveLength(handed.length);
});
