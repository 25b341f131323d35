// Who may decide over a call that was asked about in the chat: what `authorizeApproval` says, by every way of a client.
import { lastAssistantMessageIsCompleteWithApprovalResponses, tool } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think, type ApprovalAuthorizationContext } from "../../src/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  reply,
  text,
  toolCall,
  type Script,
  type TestSocket
} from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import { soon, storedPart, type Overrides } from "./actions-kit.ts";
import { PlainNetwork, settle, WAYS } from "./plain-kit.ts";
import { ask, framesOf } from "../kit/frames.ts";

let script: Script;
let paid = 0;
let authorize: NonNullable<Overrides["authorizeApproval"]>;
let contexts: ApprovalAuthorizationContext[] = [];
let logged: ReturnType<typeof vi.spyOn>;

class Clerk extends Think {
  override getModel() {
    return installedModel(script);
  }

  override getTools() {
    const inputSchema = z.object({ amount: z.number() });
    return { pay: tool({ inputSchema, needsApproval: true, execute: () => `paid, time ${++paid}` }) };
  }

  override identifyApprover() {
    return "Ada";
  }

  override authorizeApproval(context: ApprovalAuthorizationContext) {
    contexts.push(context);
    return authorize(context);
  }
}

function open() {
  script = createScript([
    reply(toolCall("pay", { amount: 5 }, { id: "c1" })),
    reply(text("Well.")),
    reply(text("Next."))
  ]);
  return createTestHost({ agents: { Clerk, Chat: Clerk } });
}

type Host = ReturnType<typeof open>;

const connect = (host: Host) => host.connect("/agents/clerk/a");

async function asked(): Promise<{ host: Host; socket: TestSocket }> {
  const host = open();
  const socket = await connect(host);
  ask(socket, "r1");
  await host.idle();
  expect((await storedPart(host)).state).toBe("approval-requested");
  return { host, socket };
}

const decide = (socket: TestSocket, approved = true) =>
  socket.send({ type: "cf_agent_tool_approval", toolCallId: "c1", approved, autoContinue: true });

const refusals = (socket: TestSocket) => framesOf(socket).filter(({ type }) => type === "cf_agent_session_error");

beforeEach(() => {
  paid = 0;
  contexts = [];
  authorize = () => true;
  logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => void vi.restoreAllMocks());

describe("a decision over a call in the chat", () => {
  test.each([
    ["at once", () => ({ allowed: false, reason: "Ask a manager." })],
    ["later", async () => ({ allowed: false, reason: "Ask a manager." })]
  ])(
    "that the class refuses (%s) changes nothing, and its client is told why and shown the call",
    async (_, refuse) => {
      const { host, socket } = await asked();
      const other = await connect(host);
      authorize = refuse;
      decide(socket);
      await soon(host);
      expect(refusals(socket)).toMatchObject([
        { toolCallId: "c1", approved: true, code: "tool-call-not-allowed", error: "Ask a manager." }
      ]);
      expect(framesOf(socket).at(-1)).toMatchObject({ type: "cf_agent_message_updated" });
      expect(refusals(other)).toEqual([]);
      expect([paid, (await storedPart(host)).state]).toEqual([0, "approval-requested"]);
      authorize = () => true;
      decide(other);
      await soon(host);
      expect([paid, (await storedPart(host)).state]).toEqual([1, "output-available"]);
    }
  );

  test("is shown to the class with the call, its input, what was decided and by whom", async () => {
    const { host, socket } = await asked();
    decide(socket, false);
    await soon(host);
    expect(contexts).toMatchObject([
      {
        ...{ executionId: "c1", source: "tool", decision: "reject", by: "Ada", grant: { allowed: true } },
        descriptor: { toolCallId: "c1", action: "pay", input: { amount: 5 }, kind: "approval-gated" }
      }
    ]);
    expect((await storedPart(host)).state).toBe("output-denied");
  });

  test("is refused by a class that fails; why is in the log and not at the client", async () => {
    const { host, socket } = await asked();
    for (const fail of [() => Promise.reject(new Error("db at 10.0.0.7 is down")), () => Promise.resolve("yes")]) {
      authorize = fail as () => Promise<never>;
      decide(socket);
      await soon(host);
    }
    expect(paid).toBe(0);
    expect(refusals(socket)).toHaveLength(2);
    expect(JSON.stringify(socket.frames)).not.toContain("10.0.0.7");
    expect(JSON.stringify(logged.mock.calls.map((call: unknown[]) => String(call[1])))).toContain("10.0.0.7");
  });

  test("also is one by a result that says it was refused", async () => {
    const { host, socket } = await asked();
    authorize = () => false;
    const denial = { type: "cf_agent_tool_result", toolCallId: "c1", toolName: "pay", state: "output-error" };
    socket.send({ ...denial, errorText: "No." });
    await soon(host);
    expect(contexts).toMatchObject([{ decision: "reject" }]);
    expect([refusals(socket).length, (await storedPart(host)).state]).toEqual([1, "approval-requested"]);
  });

  test("holds back later frames of its client until it is made, and no other client's", async () => {
    const { host, socket } = await asked();
    const other = await connect(host);
    const gate = createGate();
    authorize = () => gate.opened.then(() => true);
    decide(socket);
    socket.send({ type: "cf_agent_stream_resume_request" });
    other.send({ type: "cf_agent_stream_resume_request" });
    await settle(host);
    const resumes = (one: TestSocket) =>
      framesOf(one)
        .filter(({ type }) => type.startsWith("cf_agent_stream_"))
        .map(({ type }) => type);
    expect(resumes(other)).toContain("cf_agent_stream_resume_none");
    const before = resumes(socket).length;
    gate.open();
    await settle(host);
    // The continuation is known when the frame behind the decision is read.
    expect(resumes(socket)[before]).toBe("cf_agent_stream_pending");
    await soon(host);
    expect(paid).toBe(1);
  });

  test("counts although its client has left before it was made", async () => {
    const { host, socket } = await asked();
    const gate = createGate();
    authorize = () => gate.opened.then(() => true);
    decide(socket);
    ask(socket, "r2");
    await settle(host);
    socket.close();
    await settle(host);
    gate.open();
    await soon(host);
    expect([paid, (await storedPart(host)).state]).toEqual([1, "output-available"]);
    expect(script.calls.length).toBe(3);
  });
});

describe.each(WAYS)("a page with %s that decides over a call", (_name, way) => {
  test("is told that it may not, and the call still waits", async () => {
    const host = open();
    const page = new PlainNetwork(host).open({
      ...way,
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses
    });
    await page.sendMessage({ text: "hi" });
    const [id = ""] =
      page.messages.at(-1)?.parts.flatMap((part) => ("approval" in part ? [part.approval?.id ?? ""] : [])) ?? [];
    authorize = async () => ({ allowed: false, reason: "Ask a manager." });
    await page.addToolApprovalResponse({ id, approved: true });
    await settle(host);
    expect([page.status, page.error?.message]).toEqual(["error", expect.stringContaining("Ask a manager.")]);
    expect(paid).toBe(0);
    const init = { method: "POST", headers: { "Content-Type": "application/json" } };
    const address = "http://localhost/agents/chat/a/chat";
    const again = await host.fetch(address, { ...init, body: JSON.stringify({ messages: page.messages }) });
    expect([again.status, await again.text()]).toEqual([403, "Ask a manager."]);
  });
});
