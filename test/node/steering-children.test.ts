// A steer to a parent that waits for a child: who reads it, what becomes of a message that the child did not read, and that
// it is read once, killed at any write.
import { tool } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { Receipt } from "../../src/index.ts";
import {
  createGate,
  everyCrash,
  reply,
  text,
  toolCall,
  type Answer,
  type RecordedCall,
  type StepFunction
} from "../../src/testing/index.ts";
import { RECOVERED_MS } from "../kit/time.ts";
import { framesOf } from "../kit/frames.ts";
import { linesOf, storedMessages } from "../kit/messages.ts";
import {
  answerOf,
  ask,
  callsResearch,
  connect,
  done,
  type Host,
  open,
  parentOf,
  research,
  results,
  scene,
  type Scripts,
  stored
} from "./agent-tools-kit.ts";

vi.setConfig({ testTimeout: 240_000 });

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

const looks = reply(text("Looking. "), toolCall("look", {}, { id: "look-1" }));

/** The child's tool waits for the gate. */
function scenario(
  child: NonNullable<Scripts["child"]>,
  steer: "child" | "parent" | undefined,
  parent: NonNullable<Scripts["child"]> = [callsResearch, done]
) {
  let gate = createGate();
  let looked = 0;
  const host = open({
    parent,
    child,
    tools: () => ({ research: research(steer === undefined ? {} : { steer }) }),
    childTools: () => ({
      look: tool({
        inputSchema: z.object({}),
        execute: async () => {
          looked += 1;
          await gate.opened;
          return "seen";
        }
      })
    })
  });
  return { host, open: () => gate.open(), close: () => void (gate = createGate()), looked: () => looked };
}

const runOf = async (host: Host) => (await (await parentOf(host)).runs())[0]!;
const childLines = async (host: Host) => {
  const { runId } = await runOf(host);
  return linesOf(await storedMessages(host, `/agents/parent/p/sub/researcher/${encodeURIComponent(runId)}`));
};
const isAbout = (message: RecordedCall["prompt"][number] | undefined, words: string) =>
  message?.role === "user" && JSON.stringify(message.content).includes(words);
const receipt = async (host: Host, id = "s1") => (await (await parentOf(host)).inspectReceipt(id)) as Receipt | null;
const statesOf = (socket: Awaited<ReturnType<typeof connect>>, id = "s1") =>
  framesOf(socket).flatMap(({ type, receipt }) => {
    const known = receipt as Receipt | undefined;
    return type === "cf_agent_chat_receipt" && known?.id === id ? [known.state] : [];
  });

describe("a steer to a parent that waits for a child", () => {
  test("is the parent's by default: it takes effect when the child is over", async () => {
    const it = scenario([looks, reply(text("Tides."))], undefined, [callsResearch, reply(text("Hurried."))]);
    void ask(it.host, "q");
    await it.host.idle();
    await (await parentOf(it.host)).steer("hurry", { id: "s1" });
    await it.host.idle();
    expect(await receipt(it.host)).toMatchObject({ state: "accepted" });
    it.open();
    await it.host.advance(30_000);
    expect(await receipt(it.host)).toMatchObject({ state: "applied", step: 1 });
    expect(linesOf(await stored(it.host)).slice(-2)).toEqual(["user:hurry", "assistant:Hurried."]);
    expect(await childLines(it.host)).not.toContain("user:hurry");
  });

  test("is passed on to a child that takes steers, which reads it at its next step: the outcome is that of the chain", async () => {
    const it = scenario([looks, reply(text("Only this year's tides."))], "child");
    const socket = await connect(it.host);
    const asked = ask(it.host, "q");
    await it.host.idle();
    await (await parentOf(it.host)).steer("only this year", { id: "s1" });
    await it.host.idle();
    const { runId } = await runOf(it.host);
    expect(await receipt(it.host)).toMatchObject({ state: "passed", to: runId });
    expect(await (await parentOf(it.host)).listQueued()).toEqual([]);
    await expect((await parentOf(it.host)).withdrawQueued("s1")).rejects.toMatchObject({ code: "not-waiting" });
    it.open();
    await it.host.advance(30_000);
    await asked;
    expect(it.looked()).toBe(1);
    expect((await childLines(it.host)).slice(1)).toEqual([
      "assistant:Looking. ",
      "user:only this year",
      "assistant:Only this year's tides."
    ]);
    expect(results(scene.parent.calls.at(-1))).toEqual(["Only this year's tides."]);
    // It stays in the conversation that it was written in, and no turn of its own answers it.
    const lines = linesOf(await stored(it.host));
    expect(lines.filter((line) => line === "user:only this year")).toHaveLength(1);
    expect(answerOf(await stored(it.host))).toBe("Done.");
    expect(scene.parent.calls).toHaveLength(2);
    expect(await receipt(it.host)).toMatchObject({ state: "passed", to: runId });
    expect(statesOf(socket)).toEqual(["accepted", "passed"]);
  });

  test("that came before the child began is the child's, too", async () => {
    const started = Promise.withResolvers<void>();
    const it = scenario([looks, reply(text("Hurried tides."))], "child");
    scene.childWaits = { start: started.promise };
    void ask(it.host, "q");
    await it.host.idle();
    await (await parentOf(it.host)).steer("hurry", { id: "s1" });
    expect(await receipt(it.host)).toMatchObject({ state: "accepted" });
    started.resolve();
    await it.host.idle();
    expect(await receipt(it.host)).toMatchObject({ state: "passed" });
    it.open();
    await it.host.advance(30_000);
    expect(results(scene.parent.calls.at(-1))).toEqual(["Hurried tides."]);
  });

  test("whose child is on its last step comes back, and takes effect in the parent", async () => {
    const gate = createGate();
    const host = open({
      parent: [callsResearch, reply(text("Hurried."))],
      child: [reply(text("Tides"), gate.wait(), text("."))],
      tools: () => ({ research: research({ steer: "child" }) })
    });
    const socket = await connect(host);
    void ask(host, "q");
    await host.idle();
    await (await parentOf(host)).steer("hurry", { id: "s1" });
    await host.idle();
    expect(await receipt(host)).toMatchObject({ state: "passed" });
    gate.open();
    await host.advance(30_000);
    expect(await receipt(host)).toMatchObject({ state: "applied", step: 1 });
    expect(statesOf(socket)).toEqual(["accepted", "passed", "accepted", "applied"]);
    expect(linesOf(await stored(host)).slice(-2)).toEqual(["user:hurry", "assistant:Hurried."]);
    expect(await childLines(host)).toEqual([expect.stringContaining("tides"), "assistant:Tides."]);
    expect(scene.child.calls).toHaveLength(1);
  });

  test("whose child is stopped comes back as well, and a cleared conversation drops it", async () => {
    const it = scenario([looks], "child", [callsResearch, reply(text("Hurried."))]);
    void ask(it.host, "q");
    await it.host.idle();
    const parent = await parentOf(it.host);
    await parent.steer("hurry", { id: "s1" });
    await it.host.idle();
    await parent.cancelAgentTool((await runOf(it.host)).runId, "enough");
    it.open();
    await it.host.advance(30_000);
    expect(await receipt(it.host)).toMatchObject({ state: "applied" });
    const again = scenario([looks], "child");
    void ask(again.host, "q").catch(() => undefined);
    await again.host.idle();
    const other = await parentOf(again.host);
    await other.steer("hurry", { id: "s1" });
    await again.host.idle();
    await other.clearMessages();
    again.open();
    await again.host.advance(30_000);
    expect(await other.listQueued()).toEqual([]);
    expect(await stored(again.host)).toEqual([]);
  });

  test("that is cancelled while the child has it does not run when it comes back", async () => {
    const gate = createGate();
    const host = open({
      parent: [callsResearch, done],
      child: [reply(text("Tides"), gate.wait(), text("."))],
      tools: () => ({ research: research({ steer: "child" }) })
    });
    void ask(host, "q");
    await host.idle();
    const parent = await parentOf(host);
    await parent.steer("hurry", { id: "s1" });
    await host.idle();
    await parent.cancelChat("s1");
    gate.open();
    await host.advance(30_000);
    expect(await receipt(host)).toMatchObject({ state: "dropped" });
    expect(scene.parent.calls).toHaveLength(2);
    expect(
      JSON.stringify([scene.parent.calls, scene.child.calls].map((calls) => calls.map(({ prompt }) => prompt)))
    ).not.toContain("hurry");
  });
});

test("killed at every write and await, a passed steer is read once, by the child or by the parent", async () => {
  const readers = new Set<string>();
  const outcome = await everyCrash({
    create: () => {
      // By what they were asked, so that a repeated call is answered as the first was.
      const steps =
        (first: Answer, then: Answer): StepFunction =>
        ({ prompt }) =>
          prompt.some(({ role }) => role === "tool") ? then : first;
      const it = scenario(steps(looks, reply(text("Tides."))), "child", steps(callsResearch, done));
      return Object.assign(it.host, { openGate: it.open });
    },
    script: async (host) => {
      void ask(host, "q").catch(() => undefined);
      await host.idle();
      await (await parentOf(host)).steer("hurry", { id: "s1" });
      await host.idle();
      host.openGate();
      await host.advance(30_000);
    },
    finish: async (host) => {
      host.openGate();
      // A client that does not know whether it was accepted sends it again.
      await (await parentOf(host)).steer("hurry", { id: "s1" });
      await host.advance(RECOVERED_MS);
    },
    inspect: async (host) => {
      const isHurry = (line: string) => line === "user:hurry";
      const [run] = await (await parentOf(host)).runs();
      const inChild = run ? (await childLines(host)).filter(isHurry).length : 0;
      // The parent's model is asked about it, not only shown it among what was said before.
      const inParent = scene.parent.calls.some(({ prompt }) => isAbout(prompt.at(-1), "hurry")) ? 1 : 0;
      readers.add(inChild > 0 ? "child" : "parent");
      return {
        readBy: inChild + inParent,
        stored: linesOf(await stored(host)).filter(isHurry).length,
        waiting: await (await parentOf(host)).listQueued()
      };
    }
  });
  expect(outcome.points).toBeGreaterThan(30);
  expect(readers).toEqual(new Set(["child", "parent"]));
});
