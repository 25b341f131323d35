// The agent that the tests of the client library talk to: a Think with a script, a tool that asks first and an action
// that parks. Its script and its side effects live outside the class, so they outlive the process.
import { tool, type ToolSet } from "ai";
import { z } from "zod";
import { action, Think, type ActionSet } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  scriptedModel,
  type Script,
  type Step,
  type TestHost
} from "../../src/testing/index.ts";
import { Network } from "./client-kit.ts";
import { storedMessages } from "../kit/messages.ts";

export const scene: { script: Script; effects: string[] } = { script: createScript([]), effects: [] };

export class Subject extends Think<unknown, { count: number }> {
  static override callables = ["pendingApprovals", "approveExecution", "rejectExecution", "add", "fail", "hold"];
  override initialState = { count: 0 };
  override getModel() {
    return scriptedModel(scene.script);
  }
  override getTools(): ToolSet {
    return {
      mail: tool({
        description: "Sends a mail.",
        inputSchema: z.object({ to: z.string() }),
        needsApproval: true,
        execute: ({ to }) => {
          scene.effects.push(`mail ${to}`);
          return "sent";
        }
      })
    };
  }
  override getActions(): ActionSet {
    return {
      wire: action({
        description: "Wires money.",
        inputSchema: z.object({ amount: z.number() }),
        kind: "durable-pause",
        approval: true,
        approvalSummary: "Wires it for good.",
        execute: async ({ amount }) => {
          scene.effects.push(`wire ${amount}`);
          return { wired: amount };
        }
      })
    };
  }
  override onChatError() {
    return new Error("It broke.");
  }
  add(amount: number): number {
    this.setState({ count: this.state.count + amount });
    return this.state.count;
  }
  fail(): never {
    throw new Error("no");
  }
  hold(): Promise<string> {
    return new Promise(() => undefined);
  }
}

export function open(...steps: Step[]): { host: TestHost<object>; network: Network } {
  scene.script = createScript(steps);
  scene.effects = [];
  const host = createTestHost({ agents: { Subject } });
  return { host, network: new Network(host) };
}

export async function ready(network: Network, settings = {}) {
  const client = network.client<Subject>(settings);
  await network.settle();
  return client;
}

export const stored = (host: TestHost<object>) => storedMessages(host, "/agents/subject/a");

/** Long enough for continuations and quick recoveries. */
export async function later(host: TestHost<object>, network: Network, ms = 1_000) {
  await host.advance(ms);
  await network.settle();
}
