// Calls that need a yes before they run, in the same conversation; and who may do what in a turn.
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  action,
  type ActionAuthorizationContext,
  type ActionAuthorizationDecision,
  type TurnContext
} from "../../src/index.ts";
import { reply, stall, text, toolCall, type Step, type TestSocket } from "../../src/testing/index.ts";
import {
  agentOf,
  chunksOf,
  connect,
  effect,
  ledger,
  open,
  outputAt,
  promptAt,
  say,
  scene,
  soon,
  stored,
  storedPart,
  type Host,
  type Overrides
} from "./actions-kit.ts";
import { ask, framesOf } from "../kit/frames.ts";
import { textOf, user } from "../kit/messages.ts";
import { DAY_MS, never } from "../kit/time.ts";

const remove = action({
  description: "Delete an account.",
  inputSchema: z.object({ userId: z.string() }),
  approval: ({ input }) => input.userId !== "me",
  approvalSummary: "Delete?",
  approvalRisk: "high",
  permissions: ({ input }) => [`delete:${input.userId}`],
  execute: async ({ userId }) => {
    effect(`delete ${userId}`);
    return { deleted: userId };
  }
});

const call = (userId = "bob") => reply(toolCall("remove", { userId }, { id: "c1" }));
const STEPS: Step[] = [call(), reply(text("Deleted."))];

/** A client whose question led to a call that needs a yes. */
async function asked(overrides?: Overrides, steps: Step[] = STEPS): Promise<{ host: Host; socket: TestSocket }> {
  const host = open(steps, { remove }, overrides);
  const socket = await connect(host);
  ask(socket, "r1");
  await host.idle();
  return { host, socket };
}

const answer = (socket: TestSocket, approved: boolean, toolCallId = "c1") =>
  socket.send({ type: "cf_agent_tool_approval", toolCallId, approved, autoContinue: true });

const descriptor = {
  requestId: "r1",
  toolCallId: "c1",
  action: "remove",
  summary: "Delete?",
  input: { userId: "bob" },
  permissions: ["delete:bob"],
  risk: "high",
  kind: "approval-gated"
};

describe("an action that needs a yes", () => {
  test("is asked about with a complete descriptor on the chunk and on the stored part, and does not run", async () => {
    const { host, socket } = await asked();
    expect(chunksOf(socket).find(({ type }) => type === "tool-approval-request")).toMatchObject({
      toolCallId: "c1",
      approvalDescriptor: descriptor
    });
    const part = await storedPart(host);
    expect(part.state).toBe("approval-requested");
    expect(part.approval?.descriptor).toEqual(descriptor);
    expect(scene.effects).toEqual([]);
    expect(ledger(host)).toEqual([]);
  });

  test("runs after a yes, once, and the answer goes on in the same message", async () => {
    const { host, socket } = await asked();
    answer(socket, true);
    answer(socket, true);
    await soon(host);
    expect(scene.effects).toEqual(["delete bob"]);
    expect(await storedPart(host)).toMatchObject({
      state: "output-available",
      output: { deleted: "bob" },
      approval: { approved: true, descriptor }
    });
    expect(textOf((await stored(host)).at(-1))).toBe("Deleted.");
    expect(await stored(host)).toHaveLength(2);
  });

  test("does not run after a no, and the model is told", async () => {
    const { host, socket } = await asked();
    answer(socket, false);
    answer(socket, true);
    await soon(host);
    expect(scene.effects).toEqual([]);
    expect(await storedPart(host)).toMatchObject({ state: "output-denied", approval: { approved: false, descriptor } });
    expect(promptAt(1)).toMatch(/did not allow/);
    expect(textOf((await stored(host)).at(-1))).toBe("Deleted.");
  });

  test("waits for days and restarts, and is answered from another tab", async () => {
    const { host } = await asked();
    await host.restart();
    await host.advance(5 * DAY_MS);
    const tab = await connect(host);
    answer(tab, true);
    await soon(host);
    expect(scene.effects).toEqual(["delete bob"]);
    expect(textOf((await stored(host)).at(-1))).toBe("Deleted.");
  });

  test("is not asked about when its policy does not require it", async () => {
    const { host, socket } = await asked(undefined, [call("me"), reply(text("ok"))]);
    expect(scene.effects).toEqual(["delete me"]);
    expect(chunksOf(socket).some(({ type }) => type === "tool-approval-request")).toBe(false);
    expect((await storedPart(host)).state).toBe("output-available");
  });

  test("survives an unrelated turn and can still be answered", async () => {
    const { host, socket } = await asked(undefined, [call(), reply(text("Aside.")), reply(text("Deleted."))]);
    await (await agentOf(host)).saveMessages([user("u2")]);
    expect((await storedPart(host)).state).toBe("approval-requested");
    answer(socket, true);
    await soon(host);
    expect(scene.effects).toEqual(["delete bob"]);
    expect((await storedPart(host)).state).toBe("output-available");
  });

  test("is not run with another input than the one approved", async () => {
    const { host, socket } = await asked({
      beforeToolCall: () => ({ action: "allow", input: { userId: "everyone" } })
    });
    answer(socket, true);
    await soon(host);
    expect(scene.effects).toEqual([]);
    expect(await outputAt(host)).toMatchObject({ error: { name: "ActionApprovalInputError" } });
  });

  test("can still be blocked by the class after a yes", async () => {
    const { host, socket } = await asked({ beforeToolCall: () => ({ action: "block", reason: "not today" }) });
    answer(socket, true);
    await soon(host);
    expect(scene.effects).toEqual([]);
    expect(await outputAt(host)).toBe("not today");
  });

  test("with kind approval-gated and no policy is always asked about", async () => {
    const gated = action({
      description: "Gated.",
      inputSchema: z.object({}),
      kind: "approval-gated",
      execute: () => effect("gated")
    });
    const host = open([reply(toolCall("gated", {}, { id: "c1" })), reply(text("ok"))], { gated });
    await say(host, "u1");
    expect(scene.effects).toEqual([]);
    expect((await storedPart(host)).approval?.descriptor).toMatchObject({
      summary: "Gated.",
      permissions: [],
      kind: "approval-gated"
    });
  });
});

describe("permissions", () => {
  const denied = { error: { name: "ActionAuthorizationError", permissions: ["delete:bob"] } };

  test("by default every turn may do everything", async () => {
    const { host } = await asked(undefined, [call("me"), reply(text("ok"))]);
    expect(await outputAt(host)).toEqual({ deleted: "me" });
  });

  test("a list narrows them: what is missing is denied, no person is asked, nothing runs", async () => {
    const { host, socket } = await asked({
      authorizeTurn: () => ({ allowed: true, grantedPermissions: ["billing:read"] })
    });
    expect(chunksOf(socket).some(({ type }) => type === "tool-approval-request")).toBe(false);
    expect(await storedPart(host)).toMatchObject({ state: "output-available", output: denied });
    expect(JSON.stringify(await outputAt(host))).toContain("delete:bob");
    expect(ledger(host)).toEqual([]);
    expect(scene.effects).toEqual([]);
    expect(textOf((await stored(host)).at(-1))).toBe("Deleted.");
  });

  test.each<[string, ActionAuthorizationDecision, string]>([
    ["false denies everything", false, "remove"],
    ["a refusal gives its reason", { allowed: false, reason: "Office hours are over." }, "Office hours are over."]
  ])("%s", async (_name, decision, message) => {
    const { host } = await asked({ authorizeTurn: () => decision });
    expect(await outputAt(host)).toMatchObject(denied);
    expect(JSON.stringify(await outputAt(host))).toContain(message);
  });

  test("are decided once per turn, from what the client sent, after beforeTurn", async () => {
    const contexts: TurnContext[] = [];
    const two = reply(
      toolCall("remove", { userId: "me" }, { id: "c1" }),
      toolCall("remove", { userId: "me" }, { id: "c2" })
    );
    const host = open(
      [two, reply(text("ok"))],
      { remove },
      {
        authorizeTurn: (context) => {
          contexts.push(context);
          return context.body?.["role"] === "admin";
        }
      }
    );
    ask(await connect(host), "r1", { role: "admin" });
    await host.idle();
    expect(contexts).toHaveLength(1);
    expect(Object.keys(contexts[0]?.tools ?? {})).toContain("remove");
    expect(scene.effects).toEqual(["delete me", "delete me"]);
  });

  test("authorizeAction decides call by call, with what is required and what was granted", async () => {
    const contexts: ActionAuthorizationContext[] = [];
    const two = reply(
      toolCall("remove", { userId: "me" }, { id: "c1" }),
      toolCall("remove", { userId: "bob" }, { id: "c2" })
    );
    const host = open(
      [two, reply(text("ok"))],
      { remove },
      {
        authorizeTurn: () => ({ allowed: true, grantedPermissions: ["delete:bob"] }),
        authorizeAction: (context) => {
          contexts.push(context);
          return context.toolCallId === "c1" ? true : { allowed: false, reason: "Not bob." };
        }
      }
    );
    await say(host, "u1");
    expect(await outputAt(host, "c1")).toEqual({ deleted: "me" });
    expect(await outputAt(host, "c2")).toMatchObject({ error: { message: "Not bob." } });
    expect(contexts.find(({ toolCallId }) => toolCallId === "c1")).toMatchObject({
      action: "remove",
      kind: "approval-gated",
      input: { userId: "me" },
      requiredPermissions: ["delete:me"],
      grantedPermissions: ["delete:bob"]
    });
  });

  test("that were taken away after the yes: it is not executed", async () => {
    let decision: ActionAuthorizationDecision = true;
    const { host, socket } = await asked({ authorizeTurn: () => decision });
    expect((await storedPart(host)).state).toBe("approval-requested");
    decision = { allowed: true, grantedPermissions: [] };
    answer(socket, true);
    await soon(host);
    expect(scene.effects).toEqual([]);
    expect(await outputAt(host)).toMatchObject(denied);
  });

  test("a recovered attempt keeps the recorded grant and does not ask again; a continuation asks again", async () => {
    let questions = 0;
    const { host } = await asked(
      {
        authorizeTurn: () => {
          questions += 1;
          // A second question after the crash would get another answer.
          return questions === 1 ? { allowed: true, grantedPermissions: ["delete:bob"] } : false;
        }
      },
      [reply(stall()), call("bob"), reply(text("Denied."))]
    );
    await host.restart();
    await host.advance(60_000);
    expect(scene.script.callCount).toBe(2);
    expect(questions).toBe(1);
    expect((await storedPart(host)).state).toBe("approval-requested");
    answer(await connect(host), true);
    await soon(host);
    expect(questions).toBe(2);
    expect(await outputAt(host)).toMatchObject(denied);
  });

  test("the grant survives a restart in the middle of the turn", async () => {
    let questions = 0;
    let isFirst = true;
    const slow = action({
      description: "Slow.",
      inputSchema: z.object({}),
      execute: () => {
        if (!isFirst) return "quick";
        isFirst = false;
        return never<string>();
      }
    });
    const host = open(
      [reply(toolCall("slow", {}, { id: "s1" })), call("me"), reply(text("ok"))],
      { slow, remove },
      {
        authorizeTurn: () => {
          questions += 1;
          return questions === 1 ? { allowed: true, grantedPermissions: ["delete:me"] } : false;
        }
      }
    );
    ask(await connect(host), "r1");
    await host.idle();
    await host.restart();
    await host.advance(60_000);
    expect(scene.effects).toEqual(["delete me"]);
    expect(questions).toBe(1);
  });

  test("a throw of authorizeTurn fails the turn before the model is called", async () => {
    const host = open(
      STEPS,
      { remove },
      {
        authorizeTurn: () => {
          throw new Error("no directory");
        }
      }
    );
    expect(await say(host, "u1")).toMatchObject({ status: "error", error: "no directory" });
    expect(scene.script.callCount).toBe(0);
  });

  test.each([undefined, null, "yes", {}, { allowed: "yes" }, { allowed: true, grantedPermissions: "all" }])(
    "an answer of authorizeTurn that is none (%j) grants nothing",
    async (decision) => {
      const { host } = await asked({ authorizeTurn: () => decision as never }, [call("me"), reply(text("ok"))]);
      expect(scene.effects).toEqual([]);
      expect(await outputAt(host)).toMatchObject({ error: { name: "ActionAuthorizationError" } });
    }
  );
});

test("frames of an approval carry no stack and no internals", async () => {
  const { socket } = await asked();
  expect(JSON.stringify(framesOf(socket))).not.toMatch(/node_modules|\.ts:\d/);
});
