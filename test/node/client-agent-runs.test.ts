// `everthink/client` shows runs of sub-agents in their tool calls, and opens their conversations.
import { beforeEach, expect, test, vi } from "vitest";
import { createThinkClient, type AgentRun, type ThinkClient } from "../../src/client/index.ts";
import { createGate, reply, text, toolCall } from "../../src/testing/index.ts";
import { open, scene, type Host } from "./agent-tools-kit.ts";
import { Network, shown } from "./client-kit.ts";
import { textOf } from "../kit/messages.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

const callsResearch = reply(toolCall("research", { query: "tides" }, { id: "call-1" }));
const done = reply(text("Done."));

function connect(host: Host) {
  const network = new Network(host);
  const { url: _url, ...options } = network.options({}, "p");
  const clients: ThinkClient[] = [];
  const client = (more: object = { agent: "Parent" }) => {
    const opened = createThinkClient({ ...options, ...more } as Parameters<typeof createThinkClient>[0]);
    clients.push(opened);
    return opened;
  };
  const child = (parent: ThinkClient, run: AgentRun) => {
    const { host: _host, agent: _agent, name: _name, ...platform } = options as Record<string, unknown>;
    return createThinkClient({ ...platform, ...parent.addressOf(run) });
  };
  return { network, client, child };
}

const card = ({ status, message, callId }: AgentRun) => `${callId} ${status}: ${textOf(message)}`;

const cards = (client: ThinkClient) => client.getSnapshot().agentRuns.map(card);

test("a child's progress is shown with its tool call, also to a second client and after a lost connection", async () => {
  const gate = createGate();
  const host = open({ parent: [callsResearch, done], child: [reply(text("one "), gate.wait(), text("two"))] });
  const { network, client } = connect(host);
  const first = client();
  await network.settle();
  const ended = first.send("Why?");
  await network.settle();
  await host.advance(600);
  expect(cards(first)).toEqual(["call-1 running: one "]);
  const second = client();
  await network.settle();
  expect(cards(second)).toEqual(["call-1 running: one "]);
  await network.cut();
  await network.reconnect();
  gate.open();
  await host.advance(600);
  await network.settle();
  await ended;
  expect(cards(first)).toEqual(["call-1 completed: one two"]);
  expect(cards(second)).toEqual(["call-1 completed: one two"]);
  expect(first.getSnapshot().agentRuns[0]).toMatchObject({ display: { name: "Researcher" }, summary: "one two" });
  // One that did not change is the same object: a component need not render it again.
  const [before] = first.getSnapshot().agentRuns;
  first.setState("x");
  expect(first.getSnapshot().agentRuns[0]).toBe(before);
  await first.clear();
  expect(cards(first)).toEqual([]);
});

test("drill-in: the child's conversation is opened live, and can be talked to", async () => {
  const gate = createGate();
  const host = open({
    parent: [callsResearch, done],
    child: [reply(text("one "), gate.wait(), text("two")), reply(text("More."))]
  });
  const { network, client, child } = connect(host);
  const parent = client();
  await network.settle();
  const ended = parent.send("Why?");
  await host.advance(600);
  await network.settle();
  const [run] = parent.getSnapshot().agentRuns;
  const inside = child(parent, run!);
  await network.settle();
  expect(inside.getSnapshot().status).toBe("running");
  expect(shown(inside).at(-1)).toBe("assistant:one ");
  gate.open();
  await network.settle();
  await ended;
  expect(shown(inside).at(-1)).toBe("assistant:one two");
  const answered = inside.send("More?");
  await network.settle();
  await answered;
  expect(shown(inside).slice(-2)).toEqual(["user:More?", "assistant:More."]);
  expect(scene.parent.callCount).toBe(2);
});
