// The live view of a sub-agent's run whose model fails in the middle of a sentence: what was taken back goes away before the next
// model's words are shown, in clients of the package, in those that come later, and over the deaths of both sides. Other clients
// are shown no words behind a half.
import type { LanguageModel } from "ai";
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { createThinkClient } from "../../src/client/index.ts";
import { chatServicesOf } from "../../src/feature/services.ts";
import { agentTool, Think } from "../../src/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  failInBand,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script
} from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import { ask, framesOf } from "../kit/frames.ts";
import { textOf } from "../kit/messages.ts";
import { Network } from "./client-kit.ts";

beforeEach(() => {
  for (const method of ["warn", "error"] as const) vi.spyOn(console, method).mockImplementation(() => undefined);
});

interface Scene {
  readonly parent: Script;
  readonly first: Script;
  readonly second: Script;
}

let scene: Scene;

class Child extends Think {
  override workspaceTools = false;
  override getModel(): LanguageModel[] {
    const { clock } = chatServicesOf(this);
    return [
      installedModel(scene.first, { clock, provider: "one.chat", modelId: "large" }),
      installedModel(scene.second, { clock, provider: "two.chat", modelId: "large" })
    ];
  }
}

class Parent extends Think {
  override getModel() {
    return scriptedModel(scene.parent);
  }
  override getTools() {
    return { dig: agentTool(Child, { description: "Digs.", inputSchema: z.object({}) }) };
  }
  async killChildren() {
    for (const { runId } of this.listAgentToolRuns()) this.abortSubAgent(Child, runId, "killed");
  }
}

function open() {
  const breaks = createGate();
  const middle = createGate();
  scene = {
    parent: createScript([reply(toolCall("dig", {}, { id: "call-1" })), reply(text("Done."))]),
    first: createScript([reply(text("First hal"), breaks.wait(), failInBand(new Error("overloaded_error")))]),
    second: createScript([
      reply(text("A whole "), middle.wait(), text("answer.")),
      reply(text("A whole answer, "), text("again."))
    ])
  };
  const host = createTestHost({ agents: { Parent, Child } });
  const network = Object.assign(new Network(host), { agent: "Parent" });
  const { url: _url, ...options } = network.options({}, "p");
  const client = () => createThinkClient({ ...options, agent: "Parent" } as Parameters<typeof createThinkClient>[0]);
  return { host, network, client, breaks, middle };
}

const said = (client: ReturnType<ReturnType<typeof open>["client"]>) =>
  client
    .getSnapshot()
    .agentRuns.map(({ message }) => textOf(message))
    .join();

test("in everthink's client the half goes away before the words of the next model come", async () => {
  const { host, network, client, breaks, middle } = open();
  const first = client();
  await network.settle();
  const seen = new Set<string>();
  first.subscribe(() => void seen.add(said(first)));
  const ended = first.send("Why?");
  await network.settle();
  await host.advance(600);
  await network.settle();
  expect(said(first)).toBe("First hal");
  breaks.open();
  await host.advance(600);
  await network.settle();
  expect(said(first)).toBe("A whole ");
  const second = client();
  await network.settle();
  expect(said(second)).toBe("A whole ");
  middle.open();
  await host.advance(600);
  await network.settle();
  await ended;
  expect([said(first), said(second)]).toEqual(["A whole answer.", "A whole answer."]);
  expect([...seen].filter((words) => words.includes("First") && words.includes("whole"))).toEqual([]);
});

test.each(["whole process", "child alone"] as const)("after the death of the %s, too", async (who) => {
  const { host, network, client, breaks } = open();
  const first = client();
  await network.settle();
  const seen = new Set<string>();
  first.subscribe(() => void seen.add(said(first)));
  void first.send("Why?").catch(() => undefined);
  await network.settle();
  await host.advance(600);
  await network.settle();
  expect(said(first)).toBe("First hal");
  breaks.open();
  await host.advance(600);
  await network.settle();
  if (who === "whole process") {
    await host.restart();
    await network.reconnect();
  } else await (await host.get(Parent, "p")).killChildren();
  await host.advance(120_000);
  await network.settle();
  expect(said(first)).not.toContain("First hal");
  expect([...seen].filter((words) => words.includes("First") && words.includes("whole"))).toEqual([]);
});

test("another client of the protocol is shown the half, then nothing more, and the summary at the end", async () => {
  const { host, breaks, middle } = open();
  const socket = await host.connect("/agents/parent/p");
  ask(socket, "r1");
  await host.advance(600);
  breaks.open();
  await host.advance(600);
  middle.open();
  await host.advance(5_000);
  const events = framesOf(socket).flatMap(({ event }) => (event ? [event as unknown as Record<string, string>] : []));
  const words = (kind: string) =>
    events
      .filter((event) => event["kind"] === kind)
      .map(({ body = "{}" }) => (JSON.parse(body) as { delta?: string }).delta ?? "")
      .join("");
  expect(words("chunk")).toBe("First hal");
  expect(words("rewritten")).toBe("A whole answer.");
  expect(events.at(-1)).toMatchObject({ kind: "finished", summary: "A whole answer." });
});
