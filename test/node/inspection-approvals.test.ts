// Who decided over an approval: the name the class knows by the connection or request, otherwise the one that was given.
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Connection } from "../../src/agent-class/index.ts";
import type { CallTimeline, InboxView, TurnsView, TurnTimeline } from "../../src/features/inspection/views.ts";
import { reply, text, toolCall } from "../../src/testing/index.ts";
import { ask, echo, KEY, look, open, request, scene, Subject, type Host } from "./inspection-kit.ts";

let logged: ReturnType<typeof vi.spyOn>;

beforeEach(() => {
  logged = vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(Subject.prototype, "onConnect").mockImplementation((connection, { request: opened }) => {
    (connection as Connection<{ user: string }>).setState({ user: new URL(opened.url).searchParams.get("user") ?? "" });
  });
  vi.spyOn(Subject.prototype, "identifyApprover").mockImplementation(({ connection, request: asked }) => {
    const state = connection?.state as { user: string } | null | undefined;
    return state?.user ?? asked?.headers.get("X-User") ?? undefined;
  });
  return () => void vi.restoreAllMocks();
});

/** A turn that asks whether it may ship, and one that follows the decision. */
async function asking(toolName = "ship", input: object = { to: "Rome" }): Promise<{ host: Host; callId: string }> {
  const host = open([reply(toolCall(toolName, input)), reply(text("wait")), reply(text("done"))]);
  await ask(host, "please");
  const { approvals } = await look<InboxView>(host, "inbox");
  expect(approvals).toHaveLength(1);
  return { host, callId: approvals[0]?.callId ?? "" };
}

async function asked(host: Host): Promise<CallTimeline | undefined> {
  const { turns } = await look<TurnsView>(host, "turns");
  const first = await look<TurnTimeline>(host, `turns/${turns.at(-1)?.turnId}`);
  return first.attempts.flatMap(({ steps }) => steps.flatMap((step) => step.calls))[0];
}

async function decideOverSocket(host: Host, callId: string, { user = "Ada", approved = true } = {}): Promise<void> {
  const socket = await host.connect(`/agents/subject/a?user=${user}`);
  socket.send({ type: "cf_agent_tool_approval", toolCallId: callId, approved, autoContinue: true });
  await host.advance(1000);
  socket.close();
}

describe("a decision over the chat socket", () => {
  test("is shown with the person behind the connection, on the timeline and among what was decided", async () => {
    const { host, callId } = await asking();
    await decideOverSocket(host, callId);
    expect(scene.effects).toEqual(["ship Rome"]);
    const decided = { by: "Ada", approved: true };
    expect(await asked(host)).toMatchObject({ status: "output", output: { text: "shipped" }, approval: decided });
    const { approvals, decided: history } = await look<InboxView>(host, "inbox");
    expect([approvals, history]).toMatchObject([[], [{ kind: "tool", name: "ship", callId, ...decided }]]);
  });

  test("keeps the name when the records of its turn are gone, and over a restart", async () => {
    const { host, callId } = await asking();
    await decideOverSocket(host, callId, { approved: false });
    await host.advance(30 * 60_000);
    await host.restart();
    expect(await asked(host)).toMatchObject({ status: "denied", approval: { by: "Ada", approved: false } });
    expect((await look<InboxView>(host, "inbox")).decided).toMatchObject([{ by: "Ada", approved: false }]);
  });

  test("has no name where the class knows none; one too long is cut", async () => {
    const unnamed = await asking();
    await decideOverSocket(unnamed.host, unnamed.callId, { user: "" });
    expect((await look<InboxView>(unnamed.host, "inbox")).decided).toMatchObject([{ by: null, approved: true }]);
    const long = await asking();
    await decideOverSocket(long.host, long.callId, { user: "a".repeat(5000) });
    expect((await look<InboxView>(long.host, "inbox")).decided[0]?.by).toBe("a".repeat(200));
  });

  test("counts, without a name, when the class fails to say who it was", async () => {
    vi.mocked(Subject.prototype.identifyApprover).mockImplementation(() => {
      throw new Error("no directory");
    });
    const { host, callId } = await asking();
    await decideOverSocket(host, callId);
    expect(scene.effects).toEqual(["ship Rome"]);
    expect(await asked(host)).toMatchObject({ approval: { by: null, approved: true } });
    expect(logged.mock.calls.flat().join(" ")).toContain("identifyApprover() failed");
  });
});

test("a name that a client gives for a parked action does not replace the one the class knows", async () => {
  const { host, callId } = await asking("pay", { euros: 5 });
  const [pending] = await (await host.get(Subject, "a")).pendingApprovals();
  const decision = { decision: "approve", by: "Mallory" };
  const headers = { "Content-Type": "application/json", "X-User": "Grace" };
  const address = `/agents/subject/a/approvals/${pending?.executionId}`;
  const answer = await host.fetch(address, { method: "POST", headers, body: JSON.stringify(decision) });
  expect(answer.status).toBe(200);
  await host.idle();
  expect(await asked(host)).toMatchObject({ callId, approval: { by: "Grace", approved: true } });
  expect((await look<InboxView>(host, "inbox")).decided).toMatchObject([{ kind: "action", name: "pay", by: "Grace" }]);
});

test("code of the server that decides names itself: there is no client to ask about", async () => {
  const { host } = await asking("pay", { euros: 5 });
  const agent = await host.get(Subject, "a");
  const [pending] = await agent.pendingApprovals();
  await agent.rejectExecution(pending?.executionId ?? "", "too much", { by: "the night watch" });
  await host.idle();
  expect((await look<InboxView>(host, "inbox")).decided).toMatchObject([
    { kind: "action", name: "pay", by: "the night watch", approved: false, reason: "too much" }
  ]);
  expect(Subject.prototype.identifyApprover).not.toHaveBeenCalled();
});

test("a decision over the inspection API keeps its name and reason, and the model is shown the reason", async () => {
  const { host, callId } = await asking();
  const decision = { id: callId, decision: "reject", by: "Lin", reason: "not on a Sunday" };
  expect((await request(host, "decide", KEY, decision)).status).toBe(200);
  await host.advance(1000);
  expect(scene.effects).toEqual([]);
  expect(await asked(host)).toMatchObject({
    approval: { by: "unverified:Lin", approved: false, reason: "not on a Sunday" }
  });
  expect(JSON.stringify(scene.script.calls.at(-1)?.prompt)).toContain("not on a Sunday");
});

test("a model that names calls of different turns alike: each decision is shown with its own call", async () => {
  const named = (toolName: string, input: object) => reply(toolCall(toolName, input, { id: "call_0" }));
  const host = open([named("look", { at: "sea" }), echo, echo, echo, named("pay", { euros: 5 }), echo, echo]);
  for (const words of ["look", "one", "two"]) await ask(host, words);
  // Calls that the model is not shown any more do not take their names with them.
  await (await host.get(Subject, "a")).compact();
  await ask(host, "pay");
  const callOf = async (question: string) => {
    const { turns } = await look<TurnsView>(host, "turns");
    const { turnId } = turns.find((turn) => turn.question === question) ?? {};
    const { attempts } = await look<TurnTimeline>(host, `turns/${turnId}`);
    return attempts.flatMap(({ steps }) => steps.flatMap((step) => step.calls))[0];
  };
  expect(await callOf("pay")).toMatchObject({ status: "waiting", approval: { approved: null } });
  expect(await callOf("look")).toMatchObject({
    callId: (await callOf("pay"))?.callId,
    status: "output",
    approval: null
  });
  const [pending] = await (await host.get(Subject, "a")).pendingApprovals();
  await (await host.get(Subject, "a")).approveExecution(pending?.executionId ?? "", { by: "Grace" });
  await host.idle();
  expect(await callOf("pay")).toMatchObject({ status: "output", approval: { approved: true, by: "Grace" } });
  expect(await callOf("look")).toMatchObject({ status: "output", approval: null });
});
