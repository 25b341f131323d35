// What comes too late finds nothing to change: a tool that ends after its conversation was cleared, after its turn was
// stopped, or after another attempt took over. And a clear forgets what the client said of itself.
import { tool, type ToolSet, type UIMessage } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { Think, type TurnContext } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Step
} from "../../src/testing/index.ts";
import { ask } from "../kit/frames.ts";
import { storedMessages, user } from "../kit/messages.ts";

interface Scene {
  script: ReturnType<typeof createScript>;
  /** What hooks were called with. */
  reported: string[];
  bodies: unknown[];
  /** Executions of the tool, each until it is let go. */
  runs: PromiseWithResolvers<string>[];
}

const scene: Scene = { script: createScript([]), reported: [], bodies: [], runs: [] };

class Waiter extends Think {
  override workspaceTools = false;

  override chatStreamStallTimeoutMs = 20_000;
  override getModel() {
    return scriptedModel(scene.script);
  }
  override getTools(): ToolSet {
    return {
      slow: tool({
        inputSchema: z.object({}),
        execute: () => {
          const run = Promise.withResolvers<string>();
          scene.runs.push(run);
          return run.promise;
        }
      })
    };
  }
  override beforeTurn({ body }: TurnContext) {
    scene.bodies.push(body);
  }
  override afterToolCall({ toolCallId, ...call }: { toolCallId: string; success: boolean; output?: unknown }) {
    scene.reported.push(`${toolCallId}: ${call.success ? String(call.output) : "failed"}`);
  }
}

async function start(...steps: Step[]) {
  Object.assign(scene, { script: createScript(steps), reported: [], bodies: [], runs: [] });
  const host = createTestHost({ agents: { Waiter } });
  const socket = await host.connect("/agents/waiter/a");
  const stored = async () => (await storedMessages(host, "/agents/waiter/a")) as (UIMessage & { parts: object[] })[];
  return { host, socket, stored };
}

const callsSlow = (id: string) => reply(toolCall("slow", {}, { id }));

test("a tool that ends is told to afterToolCall", async () => {
  const { host, socket } = await start(callsSlow("c1"), reply(text("Done.")));
  ask(socket, "r1");
  await host.idle();
  scene.runs[0]?.resolve("in time");
  await host.idle();
  expect(scene.reported).toEqual(["c1: in time"]);
});

test.each([
  ["the conversation was cleared", { type: "cf_agent_chat_clear" }],
  ["its turn was stopped", { type: "cf_agent_chat_request_cancel", id: "r1" }]
])("a tool that ends after %s is sent to no client and changes nothing", async (_why, frame) => {
  const { host, socket, stored } = await start(callsSlow("c1"), reply(text("Next.")));
  ask(socket, "r1");
  await host.idle();
  expect(scene.runs).toHaveLength(1);
  socket.send(frame);
  await host.idle();
  const before = JSON.stringify(await stored());
  scene.runs[0]?.resolve("too late");
  await host.idle();
  expect(scene.reported).toEqual([]);
  expect(JSON.stringify(await stored())).toBe(before);
  ask(socket, "r2");
  await host.idle();
  expect(scene.reported).toEqual([]);
  expect(JSON.stringify(scene.script.calls)).not.toContain("too late");
});

test("the result of an attempt that was overtaken is dropped: the attempt that took over has settled the call", async () => {
  const { host, socket, stored } = await start(callsSlow("c1"), callsSlow("c2"), reply(text("Done.")));
  ask(socket, "r1");
  await host.idle();
  // The window counts tools: the attempt is given up, and after a pause another goes on.
  await host.advance(21_500);
  expect(scene.runs).toHaveLength(2);
  scene.runs[0]?.resolve("overtaken");
  await host.idle();
  scene.runs[1]?.resolve("counts");
  await host.idle();
  expect(scene.reported).toEqual(["c2: counts"]);
  const parts = (await stored()).flatMap((message) => message.parts.filter((part) => "toolCallId" in part));
  expect(parts).toMatchObject([
    { toolCallId: "c1", state: "output-error" },
    { toolCallId: "c2", state: "output-available", output: "counts" }
  ]);
  expect(JSON.stringify(scene.script.calls)).not.toContain("overtaken");
});

test("a clear forgets the tools and the fields that a client sent", async () => {
  const { host, socket } = await start(reply(text("One.")), reply(text("Two.")), reply(text("Three.")));
  /** The tools of a turn that code starts: those the client last described are among them. */
  const toolsOfTurn = async (id: string) => {
    const agent = await host.get(Waiter, "a");
    await agent.saveMessages([user(id)]);
    return scene.script.calls.at(-1)?.tools?.map(({ name }) => name);
  };
  ask(socket, "r1", { clientTools: [{ name: "mine" }], tone: "formal" });
  await host.idle();
  expect(await toolsOfTurn("u2")).toContain("mine");
  expect(scene.bodies.at(-1)).toEqual({ tone: "formal" });
  socket.send({ type: "cf_agent_chat_clear" });
  await host.idle();
  await host.restart();
  expect(await toolsOfTurn("u3")).toEqual(["slow"]);
  expect(scene.bodies.at(-1)).toBeUndefined();
});
