// A decision about a parked action that is sent again, as callers do that did not get the answer: it is answered with what
// came of it, and does nothing.
import { expect, test } from "vitest";
import { z } from "zod";
import { action, type ActionSet } from "../../src/index.ts";
import { createGate, reply, toolCall } from "../../src/testing/index.ts";
import { parked, STEPS } from "./actions-deployment.ts";
import {
  agentOf,
  callFromClient,
  Clerk,
  effect,
  firstWaiting,
  open,
  outputAt,
  post,
  say,
  scene,
  soon,
  stored,
  type Host
} from "./actions-kit.ts";
import { DAY_MS, never } from "../kit/time.ts";
import { linesOf } from "../kit/messages.ts";

interface Answer {
  readonly status: number;
  readonly output: unknown;
}

async function send(host: Host, executionId: string, body: object): Promise<Answer> {
  const response = await post(host, executionId, body);
  return { status: response.status, ...((await response.json()) as { output: unknown }) };
}

async function asked(overrides?: Parameters<typeof parked>[0]) {
  const { host, executionId } = await parked(overrides);
  const { inputHash = "" } = await firstWaiting(host);
  return { host, executionId, inputHash };
}

const refusal = (executionId: string) => ({
  status: 409,
  output: { status: "error", executionId, error: expect.stringContaining("Nothing was done") }
});

test.each([
  ["approve", { deployed: "main" }, ["deploy main"]],
  ["reject", { status: "rejected", reason: "Not now" }, []]
] as const)("%s sent again gets the first answer and does nothing, also hours and restarts later", async (...row) => {
  const [decision, outcome, effects] = row;
  const { host, executionId, inputHash } = await asked();
  const body = { decision, inputHash, by: "ann", reason: "Not now" };
  const first = await send(host, executionId, body);
  expect(first).toMatchObject({ status: 200, output: outcome });
  expect(await send(host, executionId, body)).toEqual(first);
  await soon(host);
  const written = linesOf(await stored(host));
  await host.restart();
  await host.advance(DAY_MS - 60_000);
  expect(await send(host, executionId, body)).toEqual(first);
  await soon(host);
  expect(scene.effects).toEqual(effects);
  expect(scene.script.callCount).toBe(3);
  expect(linesOf(await stored(host))).toEqual(written);
});

test("another decision, another person, another input or none named is refused as before", async () => {
  for (const decision of ["approve", "reject"] as const) {
    const { host, executionId, inputHash } = await asked();
    const body = { decision, inputHash, by: "ann" };
    expect(await send(host, executionId, body)).toMatchObject({ status: 200 });
    await soon(host);
    const other = decision === "approve" ? "reject" : "approve";
    for (const again of [
      { ...body, decision: other },
      { ...body, by: "bob" },
      { decision, inputHash },
      { ...body, inputHash: "another" },
      { decision, by: "ann" }
    ]) {
      expect(await send(host, executionId, again), JSON.stringify(again)).toMatchObject(refusal(executionId));
    }
    await soon(host);
    expect(scene.effects).toEqual(decision === "approve" ? ["deploy main"] : []);
  }
});

test("a name that a client claims is not given the answer of one that the server knows", async () => {
  const { host, executionId, inputHash } = await asked();
  const agent = await agentOf(host);
  await agent.approveExecution(executionId, { by: "ann", inputHash });
  const repeated = { decision: "approve", by: "ann", inputHash };
  expect(await send(host, executionId, repeated)).toMatchObject(refusal(executionId));
  expect(await agent.approveExecution(executionId, { by: "ann", inputHash })).toEqual({ deployed: "main" });
});

test("who may not decide any more is not given the answer of an earlier decision", async () => {
  let isAllowed = true;
  const { host, executionId, inputHash } = await asked({ authorizeApproval: () => isAllowed });
  const body = { decision: "approve", inputHash };
  expect(await send(host, executionId, body)).toMatchObject({ status: 200 });
  isAllowed = false;
  expect(await send(host, executionId, body)).toMatchObject({ status: 409, output: { status: "error", executionId } });
  isAllowed = true;
  expect(await send(host, executionId, body)).toMatchObject({ status: 200, output: { deployed: "main" } });
});

test("the callable of a connected client answers a repeated decision alike", async () => {
  const { host, executionId, inputHash } = await asked();
  const decide = () => callFromClient(host, "approveExecution", executionId, { inputHash });
  expect([await decide(), await decide()]).toEqual([{ deployed: "main" }, { deployed: "main" }]);
  expect(scene.effects).toEqual(["deploy main"]);
});

/** A parked call of an action of the test's own. */
async function askedOf(actions: ActionSet) {
  const host = open([reply(toolCall("pay", {}, { id: "c1" })), ...STEPS.slice(1)], actions);
  await say(host, "u1");
  const { executionId, inputHash } = await firstWaiting(host);
  return { host, executionId, body: { decision: "approve", inputHash } };
}

const pause = { description: "Pays.", inputSchema: z.object({}), kind: "durable-pause" } as const;

test("sent again while the action runs, it waits for the one outcome", async () => {
  const gate = createGate();
  const pay = action({
    ...pause,
    execute: async () => {
      effect("pay");
      await gate.wait();
      return "paid";
    }
  });
  const { host, executionId, body } = await askedOf({ pay });
  const answers = [send(host, executionId, body), send(host, executionId, body)];
  await soon(host);
  const other = { ...body, decision: "reject" };
  expect(await send(host, executionId, other)).toMatchObject(refusal(executionId));
  gate.open();
  expect(await Promise.all(answers)).toEqual(Array(2).fill({ status: 200, output: "paid" }));
  expect(scene.effects).toEqual(["pay"]);
});

/** The process died in the approved action. */
async function died(own: { idempotencyKey?: string }) {
  const pay = action({
    ...pause,
    ...own,
    execute: async () => {
      effect("pay");
      return never<string>();
    }
  });
  const question = await askedOf({ pay });
  void send(question.host, question.executionId, question.body).catch(() => undefined);
  await soon(question.host);
  await question.host.restart();
  await soon(question.host);
  return question;
}

test("sent again after the process died in the action, it gets what the conversation says, and repeats nothing", async () => {
  const { host, executionId, body } = await died({});
  const output = { error: expect.objectContaining({ name: "ActionPendingError" }) };
  expect(await send(host, executionId, body)).toMatchObject({ status: 200, output });
  expect(await outputAt(host)).toMatchObject(output);
  expect(scene.effects).toEqual(["pay"]);
});

test("sent again while an attempt of an earlier process may still run, it says that the outcome is not known yet", async () => {
  const { host, executionId, body } = await died({ idempotencyKey: "order-7" });
  const again = await send(host, executionId, body);
  expect(again).toMatchObject(refusal(executionId));
  expect(again.output).toMatchObject({ error: expect.stringContaining("its outcome is not known yet") });
  expect(scene.effects).toEqual(["pay"]);
});

test.each([
  ["failed", () => action({ ...pause, execute: () => Promise.reject(new Error("declined")) })],
  ["returned nothing", () => action({ ...pause, execute: async () => undefined })],
  ["has a key of its own", () => action({ ...pause, idempotencyKey: "order-7", execute: async () => "paid" })]
])("the answer of an action that %s is repeated alike", async (_name, pay) => {
  const { host, executionId, body } = await askedOf({ pay: pay() });
  const first = await send(host, executionId, body);
  await soon(host);
  expect(first.status).toBe(200);
  expect(await send(host, executionId, body)).toEqual(first);
});

test("after a day the answer is gone, which is said in words, and its row with it", async () => {
  const { host, executionId, inputHash } = await asked();
  const body = { decision: "approve", inputHash };
  await send(host, executionId, body);
  await host.advance(DAY_MS);
  const again = await send(host, executionId, body);
  expect(again).toMatchObject(refusal(executionId));
  expect(again.output).toMatchObject({ error: expect.stringContaining("no outcome of it is kept") });
  await host.advance(1);
  await host.restart();
  await agentOf(host);
  expect(host.sql(Clerk, "a", "SELECT * FROM cf_work")).toEqual([]);
  expect(scene.effects).toEqual(["deploy main"]);
});

test("a row whose state became garbage never runs: an event names it, and the conversation says so", async () => {
  const { host, executionId } = await asked();
  host.kill();
  host.sql(Clerk, "a", "UPDATE cf_work SET payload = json_set(payload, '$.state', '{\"broken'), due_at = 1");
  await host.restart();
  await soon(host);
  expect(await send(host, executionId, { decision: "approve" })).toMatchObject(refusal(executionId));
  await host.advance(31 * DAY_MS);
  expect(scene.effects).toEqual([]);
  expect(scene.events).toContainEqual(
    expect.objectContaining({
      type: "storage:row:quarantined",
      payload: expect.objectContaining({ table: "cf_work", key: `paused-action:${executionId}` })
    })
  );
  expect(await outputAt(host)).toMatchObject({ status: "error", executionId });
});

test("what expired is not the answer to a refusal without a name", async () => {
  const { host, executionId, inputHash } = await asked({ actionPendingApprovalTtlMs: DAY_MS });
  await host.advance(2 * DAY_MS);
  const answer = await send(host, executionId, { decision: "reject", inputHash });
  expect(answer).toMatchObject(refusal(executionId));
});

test("a conversation that was cleared has nothing to decide and nothing to repeat", async () => {
  const { host, executionId, inputHash } = await asked();
  const body = { decision: "approve", inputHash };
  await (await agentOf(host)).clearMessages();
  expect(await send(host, executionId, body)).toMatchObject(refusal(executionId));
  expect(scene.effects).toEqual([]);
});
