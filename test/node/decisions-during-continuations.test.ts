// Decisions that come while another turn goes on from the answer that holds the call: whatever comes of that turn, the
// decision is kept, and what was allowed runs once.
import { beforeEach, describe, expect, test, vi } from "vitest";
import { reply, text, toolCall } from "../../src/testing/index.ts";
import { agentOf, approve, connect, held, open, partOf, scene, soon, type Host } from "./open-calls-kit.ts";
import { ask } from "../kit/frames.ts";

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

const ENDINGS = ["fails", "goes on", "dies"] as const;

/** The hook of the turn that goes on is held. `end` lets it end. */
function heldHook(host: Host) {
  const { pause, reached, letGo } = held();
  scene.beforeTurn = pause;
  return {
    reached,
    async end(how: (typeof ENDINGS)[number]) {
      scene.beforeTurn = async () => {};
      if (how === "dies") {
        await host.restart();
        // By itself, with its alarm.
        await host.advance(60_000);
        return;
      }
      scene.failsTurns = how === "fails";
      letGo();
      await host.idle();
      scene.failsTurns = false;
    }
  };
}

async function pausedId(host: Host): Promise<string> {
  const { output } = await partOf(host, "c2");
  return (output as { executionId: string }).executionId;
}

describe.each(ENDINGS)("while the hook of a continuation runs that then %s", (how) => {
  test("an approval of a call is kept, and the call runs once", async () => {
    const host = open([reply(toolCall("pay", { amount: 1 }, { id: "c1" })), reply(text("One.")), reply(text("Two."))]);
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    const hook = heldHook(host);
    void (await agentOf(host)).goOn().catch(() => undefined);
    await hook.reached;
    approve(socket, "c1");
    await host.idle();
    expect((await partOf(host)).state).toBe("approval-responded");
    await hook.end(how);
    await soon(host);
    await soon(host);
    expect(scene.effects).toEqual(["pay 1"]);
    expect(await partOf(host)).toMatchObject({ state: "output-available", output: { paid: 1 } });
  });

  test("an approval of a parked action is kept, and the action runs once", async () => {
    const host = open([
      reply(toolCall("wire", { to: "bob" }, { id: "c2" })),
      reply(text("Parked.")),
      reply(text("One.")),
      reply(text("Two."))
    ]);
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    const executionId = await pausedId(host);
    const hook = heldHook(host);
    void (await agentOf(host)).goOn().catch(() => undefined);
    await hook.reached;
    await (await agentOf(host)).approveExecution(executionId);
    await hook.end(how);
    await soon(host);
    await soon(host);
    expect(scene.effects).toEqual(["wire bob"]);
    expect(await partOf(host, "c2")).toMatchObject({ state: "output-available", output: { wired: "bob" } });
  });

  test("an approval of an action that is parked in the answer that is extended is kept", async () => {
    const host = open([
      reply(toolCall("pay", { amount: 1 }, { id: "c1" }), toolCall("wire", { to: "bob" }, { id: "c2" })),
      reply(text("One.")),
      reply(text("Two.")),
      reply(text("Three."))
    ]);
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    const executionId = await pausedId(host);
    const hook = heldHook(host);
    approve(socket, "c1");
    await host.advance(60);
    await hook.reached;
    await (await agentOf(host)).approveExecution(executionId);
    await hook.end(how);
    await soon(host);
    await soon(host);
    expect(scene.effects.filter((one) => one.startsWith("wire"))).toEqual(["wire bob"]);
    expect(await partOf(host, "c2")).toMatchObject({ state: "output-available", output: { wired: "bob" } });
  });
});
