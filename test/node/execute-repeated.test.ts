// One press is one decision: a client, a script or a person that sends it again, around a process that dies in the approved
// call, never decides the question that comes next.
import { PassThrough } from "node:stream";
import { beforeEach, expect, test, vi } from "vitest";
import type { PendingApproval } from "../../src/index.ts";
import type { Connector } from "../../src/features/execute/index.ts";
import { createTestHost, createTestLoader, planModel } from "../../src/testing/index.ts";
import type { ThinkClient } from "../../src/client/index.ts";
import { listOrDecide } from "../../src/cli/commands/approve.ts";
import { converse } from "../../src/cli/chat/converse.ts";
import { Network } from "./client-kit.ts";
import { Coder, scene, say, open, coder, type Host } from "./execute-kit.ts";
import { RECOVERED_MS } from "../kit/time.ts";

// Every crash is reported by what was in the middle of something.
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

/** A call that has its effect and does not return while it is held. */
function held() {
  let begun = Promise.withResolvers<void>();
  let isHeld = true;
  const pay = async (args: unknown) => {
    scene.effects.push(`pay ${String((args as { n: number }).n)}`);
    begun.resolve();
    if (isHeld) await new Promise(() => undefined);
    return "paid";
  };
  const bank: Connector = { name: () => "bank", tools: () => ({ pay: { requiresApproval: true, execute: pay } }) };
  return {
    connectors: [bank],
    begun: async () => {
      await begun.promise;
      begun = Promise.withResolvers<void>();
    },
    letGo: () => void (isHeld = false)
  };
}

const plan = (code: string) =>
  planModel({ go: [{ calls: [{ tool: "execute", input: { code } }] }, { text: "Over." }] });

const ONE = `await bank.pay({ n: 1 }); "ended"`;
const TWO = `await bank.pay({ n: 1 }); await bank.pay({ n: 2 }); "ended"`;

async function asked(code: string, bank = held()) {
  const host = open([], { connectors: bank.connectors });
  Object.assign(scene, { model: plan(code) });
  await say(host);
  return { host, bank, question: await question(host) };
}

async function question(host: Host): Promise<PendingApproval> {
  const [found] = await (await coder(host)).pendingApprovals();
  if (!found) throw new Error("Nothing waits.");
  return found;
}

async function killedInCall(host: Host, bank: ReturnType<typeof held>): Promise<void> {
  await bank.begun();
  await host.restart();
  // What is made again returns.
  bank.letGo();
  await coder(host);
  await host.advance(RECOVERED_MS);
}

const post = async (host: Host, id: string, body: object) => {
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await host.fetch(`/agents/coder/a/approvals/${id}`, init);
  return { status: response.status, output: ((await response.json()) as { output: unknown }).output };
};

test("after a death in the approved call, only a decision about the new question decides it", async () => {
  const { host, bank, question: first } = await asked(ONE);
  const { executionId, inputHash, seq } = first;
  expect([seq, first.mayHaveRun]).toEqual([0, undefined]);
  void (await coder(host)).approveExecution(executionId, { inputHash: inputHash ?? "" }).catch(() => undefined);
  await killedInCall(host, bank);
  const second = await question(host);
  expect(second).toMatchObject({ executionId, seq: 0, mayHaveRun: true });
  expect(second.inputHash).not.toBe(inputHash);
  const agent = await coder(host);
  // By a client of before, and by one that names no question.
  for (const refused of [await agent.approveExecution(executionId), await agent.rejectExecution(executionId)])
    expect(refused).toMatchObject({ status: "error", error: expect.stringContaining("may have run") });
  expect(await agent.approveExecution(executionId, { seq: 0 })).toMatchObject({ status: "error" });
  expect(await agent.approveExecution(executionId, { seq: 0, inputHash: inputHash ?? "" })).toMatchObject({
    status: "paused",
    pending: [{ seq: 0, mayHaveRun: true }]
  });
  expect(scene.effects).toEqual(["pay 1"]);
  const { inputHash: again = "" } = second;
  expect(await agent.approveExecution(executionId, { inputHash: again })).toMatchObject({ status: "completed" });
  expect(scene.effects).toEqual(["pay 1", "pay 1"]);
});

test("a question that may have run says so in its summary, also where the class describes it", async () => {
  const { host, bank, question: first } = await asked(ONE);
  scene.describe = () => ({ summary: "Pays the rent." });
  void (await coder(host)).approveExecution(first.executionId).catch(() => undefined);
  await killedInCall(host, bank);
  expect((await question(host)).descriptor.summary).toBe("It may have run already: Pays the rent.");
});

test("a question that may have run is rejected by its name", async () => {
  const { host, bank, question: first } = await asked(ONE);
  void (await coder(host)).approveExecution(first.executionId).catch(() => undefined);
  await killedInCall(host, bank);
  const { executionId, inputHash = "", seq = -1 } = await question(host);
  const decided = await (await coder(host)).rejectExecution(executionId, "It was paid.", { inputHash, seq });
  expect(decided).toMatchObject({ status: "rejected", reason: "It was paid." });
  expect(scene.effects).toEqual(["pay 1"]);
});

test("a script that posts its decision again is answered as the first time, and nothing is done again", async () => {
  const bank = held();
  bank.letGo();
  const { host, question: first } = await asked(TWO, bank);
  const { executionId, inputHash, seq } = first;
  const body = { decision: "approve", inputHash, seq };
  const paused = { status: 200, output: { status: "paused", pending: [{ seq: 1 }] } };
  expect(await post(host, executionId, body)).toMatchObject(paused);
  expect(await post(host, executionId, body)).toMatchObject(paused);
  expect(await post(host, executionId, { ...body, decision: "reject" })).toMatchObject({ status: 409 });
  // Another person who approves it comes too late.
  expect(await post(host, executionId, { ...body, by: "ben" })).toMatchObject({ status: 409 });
  expect(scene.effects).toEqual(["pay 1"]);
  const { inputHash: next } = await question(host);
  const last = await post(host, executionId, { decision: "approve", inputHash: next, by: "ada" });
  expect(last).toMatchObject({ status: 200, output: { status: "completed", result: "ended" } });
  expect(await post(host, executionId, { decision: "approve", inputHash: next, by: "ada" })).toEqual(last);
  expect(scene.effects).toEqual(["pay 1", "pay 2"]);
});

test("a decision about a call does not decide the same call that code makes a second time", async () => {
  const bank = held();
  bank.letGo();
  const { host, question: first } = await asked(`await bank.pay({ n: 1 }); await bank.pay({ n: 1 }); "ended"`, bank);
  const body = { decision: "approve", inputHash: first.inputHash };
  for (let times = 0; times < 3; times += 1)
    expect(await post(host, first.executionId, body)).toMatchObject({
      output: { status: "paused", pending: [{ seq: 1 }] }
    });
  expect(scene.effects).toEqual(["pay 1"]);
  expect((await question(host)).inputHash).not.toBe(first.inputHash);
});

test("a rejection that is posted again is answered as the first time", async () => {
  const { host, question: first } = await asked(ONE);
  const body = { decision: "reject", reason: "no", inputHash: first.inputHash };
  const answer = await post(host, first.executionId, body);
  expect(answer).toMatchObject({ status: 200, output: { status: "rejected", reason: "no" } });
  expect(await post(host, first.executionId, body)).toEqual(answer);
  expect(await post(host, first.executionId, { ...body, decision: "approve" })).toMatchObject({ status: 409 });
  expect(scene.effects).toEqual([]);
});

test("a script that posts again around a kill is shown the new question and repeats nothing", async () => {
  const { host, bank, question: first } = await asked(ONE);
  const body = { decision: "approve", inputHash: first.inputHash, seq: first.seq };
  void post(host, first.executionId, body).catch(() => undefined);
  await killedInCall(host, bank);
  expect(await post(host, first.executionId, body)).toMatchObject({
    status: 200,
    output: { status: "paused", pending: [{ seq: 0, mayHaveRun: true }] }
  });
  expect(await post(host, first.executionId, { decision: "approve" })).toMatchObject({ status: 409 });
  expect(scene.effects).toEqual(["pay 1"]);
});

test("a script that posts a decision without a hash, again and again, decides one question", async () => {
  const bank = held();
  bank.letGo();
  const { host, question: first } = await asked(TWO, bank);
  const { executionId } = first;
  const paused = { status: 200, output: { status: "paused", pending: [{ seq: 1 }] } };
  expect(await post(host, executionId, { decision: "approve" })).toMatchObject(paused);
  const { inputHash, seq } = await question(host);
  for (const body of [{ decision: "approve" }, { decision: "reject" }, { decision: "approve", seq: 0 }]) {
    expect(await post(host, executionId, body), JSON.stringify(body)).toMatchObject({
      status: 409,
      output: {
        status: "error",
        executionId,
        error: expect.stringContaining("Nothing was done"),
        pending: [{ seq, inputHash, method: "pay", args: { n: 2 } }]
      }
    });
  }
  expect(scene.effects).toEqual(["pay 1"]);
  expect(await question(host)).toMatchObject({ seq, inputHash });
  const last = await post(host, executionId, { decision: "approve", inputHash });
  expect(last).toMatchObject({ status: 200, output: { status: "completed" } });
  expect(await post(host, executionId, { decision: "approve" })).toMatchObject({ status: 409 });
  expect(scene.effects).toEqual(["pay 1", "pay 2"]);
});

test("two posts without a hash at once decide one question, also of calls that wait side by side", async () => {
  for (const code of [TWO, `await Promise.all([bank.pay({ n: 1 }), bank.pay({ n: 2 })]); "ended"`]) {
    const bank = held();
    bank.letGo();
    const { host, question: first } = await asked(code, bank);
    const bodies = Array(3).fill({ decision: "approve" });
    const answers = await Promise.all(bodies.map((body) => post(host, first.executionId, body)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
    expect(scene.effects).toEqual(["pay 1"]);
  }
});

test("a refusal names what waits only to a caller that may decide over it", async () => {
  const bank = held();
  bank.letGo();
  const { host, question: first } = await asked(TWO, bank);
  await post(host, first.executionId, { decision: "approve" });
  scene.authorize = () => false;
  const { output } = await post(host, first.executionId, { decision: "approve" });
  expect(output).toEqual({ status: "error", executionId: first.executionId, error: expect.any(String) });
});

test("code of the server decides one question after the other by the id of the run", async () => {
  const bank = held();
  bank.letGo();
  const { host, question: first } = await asked(TWO, bank);
  const agent = await coder(host);
  expect(await agent.approveExecution(first.executionId)).toMatchObject({ status: "paused", pending: [{ seq: 1 }] });
  expect(await agent.approveExecution(first.executionId)).toMatchObject({ status: "completed" });
  expect(scene.effects).toEqual(["pay 1", "pay 2"]);
});

/** The class is asked by every decision, and answers all of them when it is let. */
function slowAuthorization(count: number) {
  const allAsked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<boolean>();
  let asked = 0;
  scene.authorize = () => {
    if (++asked === count) allAsked.resolve();
    return answered.promise;
  };
  return { allAsked: allAsked.promise, answer: () => answered.resolve(true) };
}

test.each([
  ["approve", ONE, { status: "completed", result: "ended" }, ["pay 1"]],
  ["approve", TWO, { status: "paused", pending: [{ seq: 1 }] }, ["pay 1"]],
  ["reject", ONE, { status: "rejected", reason: "no" }, []]
] as const)("two equal hashed posts at once both get the first answer (%s, %s)", async (...row) => {
  const [decision, code, output, effects] = row;
  const bank = held();
  bank.letGo();
  const { host, question: first } = await asked(code, bank);
  const body = { decision, reason: "no", inputHash: first.inputHash };
  const { allAsked, answer } = slowAuthorization(2);
  const answers = [post(host, first.executionId, body), post(host, first.executionId, body)];
  await allAsked;
  answer();
  const [one, other] = await Promise.all(answers);
  expect(one).toMatchObject({ status: 200, output });
  expect(other).toEqual(one);
  expect(scene.effects).toEqual(effects);
});

test("of two different hashed posts at once the one that comes too late is refused", async () => {
  const bank = held();
  bank.letGo();
  const { host, question: first } = await asked(ONE, bank);
  const { inputHash, executionId } = first;
  const { allAsked, answer } = slowAuthorization(2);
  const approved = post(host, executionId, { decision: "approve", inputHash });
  const rejected = post(host, executionId, { decision: "reject", inputHash });
  await allAsked;
  answer();
  const statuses = (await Promise.all([approved, rejected])).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([200, 409]);
});

test("who may not decide is not given the answer of an earlier decision", async () => {
  const bank = held();
  bank.letGo();
  const { host, question: first } = await asked(ONE, bank);
  const body = { decision: "approve", inputHash: first.inputHash };
  expect(await post(host, first.executionId, body)).toMatchObject({ status: 200 });
  scene.authorize = () => false;
  expect(await post(host, first.executionId, body)).toMatchObject({ status: 409, output: { status: "error" } });
});

// ── Our client, which repeats its decision on the next connection ──

async function page(code: string, bank = held()) {
  Object.assign(scene, { model: plan(code), options: () => ({ connectors: bank.connectors }), effects: [] });
  Object.assign(scene, { authorize: () => true, tools: undefined, runtime: undefined, frozenUntil: 0 });
  const host = createTestHost({ agents: { Subject: Coder }, env: { LOADER: createTestLoader() } });
  const network = new Network(host);
  const client = network.client();
  await network.settle();
  void client.send("go");
  await network.settle();
  const [first] = client.getSnapshot().pendingApprovals;
  if (!first) throw new Error("Nothing waits.");
  return { host, network, client, bank, first, callId: first.callId };
}

test("a page that repeats one press after the reconnect runs the call once, and shows the new question", async () => {
  const { host, network, client, bank, first, callId } = await page(ONE);
  expect(first).toMatchObject({ callId, seq: 0, inputHash: expect.any(String) });
  const decided = client.approve(callId);
  expect(client.getSnapshot().pendingApprovals).toEqual([]);
  await bank.begun();
  await host.restart();
  await network.notice();
  await network.reconnect();
  await host.advance(RECOVERED_MS);
  await network.settle();
  expect(network.sent.filter((frame) => JSON.stringify(frame).includes("approveExecution"))).toHaveLength(2);
  await decided;
  expect(scene.effects).toEqual(["pay 1"]);
  const [second] = client.getSnapshot().pendingApprovals;
  expect(second).toMatchObject({ callId, seq: 0, mayHaveRun: true });
  bank.letGo();
  // What has seen only the call, or only the run, has not seen that it may have run.
  const { executionId = "" } = second ?? {};
  for (const unseen of [callId, executionId, { callId }, { executionId }]) {
    for (const decided of [client.approve(unseen), client.reject(unseen, "no")])
      await expect(decided, JSON.stringify(unseen)).rejects.toMatchObject({ code: "call-may-have-run" });
  }
  expect(network.sent.filter((frame) => JSON.stringify(frame).includes("rejectExecution"))).toEqual([]);
  expect(client.getSnapshot().pendingApprovals).toEqual([second]);
  const again = client.approve(second ?? "");
  await host.advance(RECOVERED_MS);
  await network.settle();
  expect(await again).toMatchObject({ status: "completed" });
  expect(scene.effects).toEqual(["pay 1", "pay 1"]);
  expect(client.getSnapshot().pendingApprovals).toEqual([]);
});

test("code that waits a second time asks the page a second time", async () => {
  const bank = held();
  bank.letGo();
  const { host, network, client, callId } = await page(TWO, bank);
  await client.approve(callId);
  await network.settle();
  expect(client.getSnapshot().pendingApprovals).toMatchObject([{ callId, seq: 1 }]);
  await client.reject(callId);
  await host.advance(RECOVERED_MS);
  await network.settle();
  expect(scene.effects).toEqual(["pay 1"]);
  expect(client.getSnapshot().pendingApprovals).toEqual([]);
});

test("a decision that the class refuses leaves the question on the page", async () => {
  const { network, client, callId } = await page(ONE);
  scene.authorize = () => false;
  expect(await client.approve(callId)).toMatchObject({ status: "error" });
  await network.settle();
  expect(client.getSnapshot().pendingApprovals).toMatchObject([{ callId, seq: 0 }]);
});

test("a client that calls approveExecution with nothing but the id, again and again, decides one question", async () => {
  const bank = held();
  bank.letGo();
  const { network, client, first } = await page(TWO, bank);
  const call = async () => {
    const answer = client.call("approveExecution" as never, [first.executionId] as never) as Promise<unknown>;
    await network.settle();
    return answer;
  };
  expect(await call()).toMatchObject({ status: "paused", pending: [{ seq: 1 }] });
  expect(await call()).toMatchObject({ status: "error", pending: [{ seq: 1, inputHash: expect.any(String) }] });
  expect(scene.effects).toEqual(["pay 1"]);
});

test("a page decides the question that it shows, not the one that came meanwhile", async () => {
  const bank = held();
  bank.letGo();
  const { network, client, first } = await page(TWO, bank);
  await client.approve(first);
  await network.settle();
  // The button of the first question, pressed again before the page was drawn anew.
  await client.approve(first);
  await network.settle();
  expect(scene.effects).toEqual(["pay 1"]);
  expect(client.getSnapshot().pendingApprovals).toMatchObject([{ seq: 1 }]);
});

/** What `everthink chat` shows up to its question. */
async function chatScreen(client: ThinkClient): Promise<string> {
  let screen = "";
  const [input, output] = [new PassThrough(), new PassThrough({ encoding: "utf8" })];
  output.on("data", (piece: string) => (screen += piece));
  const left = converse(client, { input, output, hasColors: false }, { title: "coder a", history: 0 });
  await vi.waitFor(() => expect(screen).toContain("Approve? [y/N] "));
  input.write("\u0003");
  expect(await left).toBe(0);
  return screen;
}

/** `everthink approve coder …`. */
async function typed({ client, network }: Pick<Awaited<ReturnType<typeof page>>, "client" | "network">, id?: string) {
  const printed: string[] = [];
  const positionals = ["coder", ...(id === undefined ? [] : [id])];
  const parsed = { positionals, flag: () => false, text: () => undefined, list: () => [] };
  const said = listOrDecide(client, parsed, { print: (line) => void printed.push(line) });
  await Promise.all([said, network.settle()]);
  return printed.join("\n");
}

test("everthink approve typed again does not decide the next call of a run", async () => {
  const bank = held();
  bank.letGo();
  const opened = await page(TWO, bank);
  const { executionId = "" } = opened.first;
  expect(await typed(opened)).toBe(`${executionId}  bank.pay {"n":1}`);
  expect(await typed(opened, executionId)).toContain("approved");
  await expect(typed(opened, executionId)).rejects.toThrow("does not wait for an approval");
  expect(scene.effects).toEqual(["pay 1"]);
  const [id = "", ...rest] = (await typed(opened)).split(" ");
  expect(id).toMatch(/^exec_.*#[0-9a-f]{8}$/);
  expect(rest.join(" ")).toBe(' bank.pay {"n":2}');
  expect(await typed(opened, id)).toContain("approved");
  expect(scene.effects).toEqual(["pay 1", "pay 2"]);
});

test("everthink approve decides a call that may have run only by the id that its list shows", async () => {
  const opened = await page(ONE);
  const { host, network, bank, first } = opened;
  const { executionId = "" } = first;
  const decided = typed(opened, executionId);
  await bank.begun();
  await host.restart();
  await network.notice();
  await network.reconnect();
  await host.advance(RECOVERED_MS);
  await network.settle();
  await decided.catch(() => undefined);
  await expect(typed(opened, executionId)).rejects.toThrow("does not wait for an approval");
  expect(scene.effects).toEqual(["pay 1"]);
  const [id = ""] = (await typed(opened)).split(" ");
  expect(id).toMatch(/^exec_.*#[0-9a-f]{8}$/);
  expect(await chatScreen(opened.client)).toContain("may have run: approve it only if it did not");
  bank.letGo();
  expect(await typed(opened, id)).toContain("approved");
  expect(scene.effects).toEqual(["pay 1", "pay 1"]);
});

test.each(["list", "chat"])(
  "the terminal (%s) shows the call that is decided to its end, and what is hidden in it",
  async (where) => {
    const code = `await bank.pay({ n: 1, note: "x".repeat(2_000) + "\u202Eand to Eve" })`;
    const { network, client } = await page(code);
    let screen = "";
    if (where === "list") {
      const parsed = { positionals: ["coder"], flag: () => false, text: () => undefined, list: () => [] };
      await listOrDecide(client, parsed, { print: (line) => void (screen += line) });
    } else screen = await chatScreen(client);
    await network.settle();
    expect(screen).toContain(`bank.pay {"n":1,"note":"${"x".repeat(2_000)}\\u{202e}and to Eve"}`);
  }
);

test("a program that approves everything does not approve what may have run", async () => {
  const bank = held();
  const { host, network, client } = await page(ONE, bank);
  client.configure({ onApproval: () => true });
  await network.settle();
  await bank.begun();
  await host.restart();
  await network.notice();
  await network.reconnect();
  await host.advance(RECOVERED_MS);
  await network.settle();
  expect(client.getSnapshot().pendingApprovals).toMatchObject([{ mayHaveRun: true }]);
  expect(scene.effects).toEqual(["pay 1"]);
});
