// Actions as the SDK runs them, in both majors: who is asked, what is resumed, what the model reads.
import { DatabaseSync } from "node:sqlite";
import type { ModelMessage, ToolSet } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { majors, run } from "../../model/sdk-majors.test-support.ts";
import { wrapTools } from "../../model/index.ts";
import { reply, text, toolCall } from "../../testing/model/index.ts";
import { action } from "./feature.ts";
import { Process, World, type CallInit } from "./actions.test-support.ts";

const inputSchema = z.object({ id: z.string() });

function open(): { world: World; tools: (init?: CallInit) => ToolSet; process: Process } {
  const world = new World(new DatabaseSync(":memory:"));
  let asked = 0;
  const process = new Process(world, () => ({
    gated: action({
      description: "Asks first.",
      inputSchema,
      permissions: ["p"],
      // Not a pure function, as users write them: it says yes only the first time.
      approval: () => ++asked === 1,
      execute: () => world.count("gated")
    }),
    fails: action({
      description: "Fails.",
      inputSchema,
      execute: () => {
        throw new TypeError("broken");
      }
    }),
    parks: action({ description: "Parks.", inputSchema, kind: "durable-pause", execute: () => world.count("parks") })
  }));
  return { world, process, tools: (init = {}) => process.compile(init).tools };
}

/** The prompt of the turn that goes on after a human's answer. */
const resumed: ModelMessage[] = [
  { role: "user", content: "Hi" },
  {
    role: "assistant",
    content: [
      { type: "tool-call", toolCallId: "c1", toolName: "gated", input: { id: "1" } },
      { type: "tool-approval-request", approvalId: "a1", toolCallId: "c1" }
    ]
  },
  { role: "tool", content: [{ type: "tool-approval-response", approvalId: "a1", approved: true }] }
];

const callsOnce = (name: string) => [reply(toolCall(name, { id: "1" }, { id: "c1" })), reply(text("done"))];
const outputOf = (chunks: readonly object[]) =>
  chunks.find((chunk) => "type" in chunk && chunk.type === "tool-output-available");

describe.each(majors)("with $name", (major) => {
  test("a gated action is asked about and not run", async () => {
    const { world, tools } = open();
    const { chunks, outcome } = await run(major, { steps: callsOnce("gated"), tools: tools() });
    expect(chunks).toContainEqual(expect.objectContaining({ type: "tool-approval-request", toolCallId: "c1" }));
    expect(outcome.status).toBe("completed");
    expect(world.effects).toEqual({});
  });

  test("an approved action is run, although its policy would no longer ask", async () => {
    const { world, tools } = open();
    await run(major, { steps: callsOnce("gated"), tools: tools() });
    const { chunks } = await run(major, { steps: [reply(text("done"))], tools: tools(), messages: resumed });
    expect(outputOf(chunks)).toMatchObject({ toolCallId: "c1", output: 1 });
    expect(world.effects).toEqual({ gated: 1 });
  });

  test("an approved action without permission is not run, and the model reads why", async () => {
    const { world, tools } = open();
    const grant = { allowed: true, grantedPermissions: [] };
    const { chunks } = await run(major, { steps: [reply(text("done"))], tools: tools({ grant }), messages: resumed });
    expect(outputOf(chunks)).toMatchObject({
      output: { error: { name: "ActionAuthorizationError", permissions: ["p"] } }
    });
    expect(world.effects).toEqual({});
  });

  test("no human is asked about an action that is denied", async () => {
    const { tools } = open();
    const grant = { allowed: false, reason: "Closed." };
    const { chunks } = await run(major, { steps: callsOnce("gated"), tools: tools({ grant }) });
    expect(chunks).not.toContainEqual(expect.objectContaining({ type: "tool-approval-request" }));
    expect(outputOf(chunks)).toMatchObject({ output: { error: { message: "Closed." } } });
  });

  test("an approved input that a hook rewrites is not run", async () => {
    const { world, tools } = open();
    const wrapped = wrapTools(tools(), {
      before: () => ({ action: "allow", input: { id: "2" } }),
      stepNumber: () => 0
    });
    const { chunks } = await run(major, { steps: [reply(text("done"))], tools: wrapped, messages: resumed });
    expect(outputOf(chunks)).toMatchObject({ output: { error: { name: "ActionApprovalInputError" } } });
    expect(world.effects).toEqual({});
  });

  test("a failing action is an output, and the turn goes on", async () => {
    const { chunks, outcome } = await run(major, { steps: callsOnce("fails"), tools: open().tools() });
    expect(outputOf(chunks)).toMatchObject({ output: { error: { name: "TypeError", message: "broken" } } });
    expect(outcome.status).toBe("completed");
  });

  test("a durable pause is an output and is not asked about through the SDK", async () => {
    const { world, tools, process } = open();
    const { chunks } = await run(major, { steps: callsOnce("parks"), tools: tools() });
    expect(chunks).not.toContainEqual(expect.objectContaining({ type: "tool-approval-request" }));
    expect(outputOf(chunks)).toMatchObject({ output: { status: "paused" } });
    expect(process.pending()).toHaveLength(1);
    expect(world.effects).toEqual({});
  });
});
