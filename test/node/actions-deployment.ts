// A deployment that waits for a human, for the tests of what happens then.
import { z } from "zod";
import { action } from "../../src/index.ts";
import { reply, text, toolCall, type Step } from "../../src/testing/index.ts";
import { effect, firstWaiting, open, say, type Host, type Overrides } from "./actions-kit.ts";

export const deploy = action({
  description: "Deploy to production.",
  inputSchema: z.object({ ref: z.string() }),
  kind: "durable-pause",
  approvalSummary: "Deploy?",
  approvalRisk: "high",
  permissions: ["deploy:run"],
  execute: async ({ ref }) => {
    effect(`deploy ${ref}`);
    return { deployed: ref };
  }
});

export const call = reply(toolCall("deploy", { ref: "main" }, { id: "c1" }));
export const STEPS: Step[] = [call, reply(text("Waiting.")), reply(text("It is out."))];

/** A conversation in which a deployment waits; no client is connected. */
export async function parked(
  overrides?: Overrides,
  steps: Step[] = STEPS
): Promise<{ host: Host; executionId: string }> {
  const host = open(steps, { deploy }, overrides);
  await say(host, "u1");
  return { host, executionId: (await firstWaiting(host)).executionId };
}

export const descriptorOf = (requestId: string) => ({
  requestId,
  toolCallId: "c1",
  action: "deploy",
  summary: "Deploy?",
  input: { ref: "main" },
  permissions: ["deploy:run"],
  risk: "high",
  kind: "durable-pause"
});

export const WAITED = ["user:u1", "assistant:Waiting."];
/** What follows a decision is a message of its own: days, and other messages, may lie between. */
export const CONTINUED = [...WAITED, "assistant:It is out."];
