import { evictDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import type { PendingApproval } from "../../src/index.ts";
import { env, fetchPath, rawStub, uniqueName } from "./world.ts";
import { linesOf, storedMessages, user } from "../kit/messages.ts";

const stored = (path: string) => storedMessages({ fetch: fetchPath }, path);

/** An agent whose deployment waits, and whose memory is gone. */
async function parked() {
  const name = uniqueName();
  const path = `/agents/releaser/${name}`;
  expect(await stored(path)).toEqual([]);
  await rawStub(env.Releaser, name).saveMessages([user("u1", "main")]);
  await evictDurableObject(rawStub(env.Releaser, name));
  const waiting = (await (await fetchPath(`${path}/approvals`)).json()) as PendingApproval[];
  expect(waiting).toMatchObject([{ source: "action", descriptor: { action: "deploy", input: { ref: "main" } } }]);
  expect(linesOf(await stored(path))).toEqual(["user:main", "assistant:Waiting."]);
  await evictDurableObject(rawStub(env.Releaser, name));
  return { name, path, executionId: waiting[0]?.executionId ?? "" };
}

const decide = (path: string, executionId: string, decision: object) =>
  fetchPath(`${path}/approvals/${executionId}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(decision)
  });

test("in workerd an action parks, survives eviction, is approved over RPC, and the conversation goes on", async () => {
  const { name, path, executionId } = await parked();
  const agent = rawStub(env.Releaser, name);
  expect(await agent.approveExecution(executionId, { by: "ann" })).toEqual({ deployed: "main" });
  await vi.waitFor(async () => expect(linesOf(await stored(path)).at(-1)).toBe("assistant:It is out."));
  expect(await agent.approveExecution(executionId)).toMatchObject({ status: "error" });
  expect(await agent.deployments()).toEqual(["main"]);
  expect(await agent.listActionLedger()).toMatchObject([{ status: "settled", approver: "ann" }]);
});

test("in workerd it is approved over HTTP, once", async () => {
  const { name, path, executionId } = await parked();
  const answers = await Promise.all([1, 2].map(() => decide(path, executionId, { decision: "approve" })));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  await vi.waitFor(async () => expect(linesOf(await stored(path)).at(-1)).toBe("assistant:It is out."));
  expect(await rawStub(env.Releaser, name).deployments()).toEqual(["main"]);
});

test("in workerd it is rejected over HTTP and never runs", async () => {
  const { name, path, executionId } = await parked();
  const answer = await decide(path, executionId, { decision: "reject", reason: "Friday" });
  expect(await answer.json()).toEqual({
    output: { status: "rejected", executionId, action: "deploy", reason: "Friday" }
  });
  await vi.waitFor(async () => expect(linesOf(await stored(path)).at(-1)).toBe("assistant:It stays in."));
  expect(await rawStub(env.Releaser, name).deployments()).toEqual([]);
});
