// Sub-agents as tools on the real platform: facets, RPC between them, and a root with a live socket.
import { expect, test, vi } from "vitest";
import { connect, env, fetchPath, rawStub, uniqueName } from "./world.ts";
import { storedMessages, user } from "../kit/messages.ts";

// The first of them also loads the Worker.
vi.setConfig({ testTimeout: 60_000 });

/** What is on its way through three objects takes its time on a busy machine. */
const PATIENTLY = { timeout: 10_000 };

const ask = (name: string, words: string) => rawStub(env.Captain, name).saveMessages([user(words)]);

async function open() {
  const name = uniqueName("captain");
  const path = `/agents/captain/${name}`;
  const socket = await connect(path);
  await socket.next("cf_agent_identity");
  const events = () =>
    (socket.frames as { type: string; sequence?: number; event?: { kind: string; runId: string } }[]).filter(
      ({ type }) => type === "agent-tool-event"
    );
  return { name, path, socket, events };
}

async function lastAnswer(path: string): Promise<string> {
  const messages = await storedMessages({ fetch: fetchPath }, path);
  return (
    messages
      .at(-1)
      ?.parts.map((part) => (part.type === "text" ? part.text : ""))
      .join("") ?? ""
  );
}

test("orders go down to the platform's depth, in parallel on each level, and one level more is a failure that is told", async () => {
  const { name, path, events } = await open();
  await ask(name, "down down down down aye");
  const answer = await lastAnswer(path);
  expect(answer).toContain("heard");
  expect(answer).toContain("nest at most 4 deep");
  const byRun = Map.groupBy(events(), ({ event }) => event?.runId);
  // Two runs of its own; those further down are their parents' clients' to see.
  expect(byRun.size).toBe(2);
  for (const frames of byRun.values()) {
    expect(frames.map(({ sequence }) => sequence)).toEqual(frames.map((_frame, index) => index));
    expect(frames.at(-1)?.event?.kind).toBe("finished");
  }
});

test("a cancel reaches the sailor two levels below at once, and nothing is left that would wake the captain", async () => {
  const { name, events } = await open();
  const asked = ask(name, "down down wait");
  await vi.waitFor(() => expect(events().length).toBeGreaterThan(2), PATIENTLY);
  await rawStub(env.Captain, name).cancelAllChats("abandon ship");
  expect(await asked).toMatchObject({ status: "aborted" });
  await vi.waitFor(async () => {
    const runs = await rawStub(env.Captain, name).listAgentToolRuns();
    expect(runs.map(({ status }) => status).toSorted()).toEqual(["aborted", "completed"]);
  }, PATIENTLY);
  await vi.waitFor(() => expect(events().some(({ event }) => event?.kind === "aborted")).toBe(true), PATIENTLY);
});

test("a child's conversation is opened below the captain's address, and deleted with its run", async () => {
  const { name, path } = await open();
  await ask(name, "down aye");
  const [run] = await rawStub(env.Captain, name).listAgentToolRuns();
  const child = await connect(`${path}/sub/sailor/${encodeURIComponent(run!.runId)}`);
  expect(await child.next("cf_agent_identity")).toMatchObject({ agent: "sailor", name: run!.runId });
  expect(await child.next("cf_agent_chat_messages")).toMatchObject({
    messages: [{ role: "user" }, { role: "assistant" }]
  });
  await rawStub(env.Captain, name).clearAgentToolRuns();
  expect(await rawStub(env.Captain, name).listAgentToolRuns()).toEqual([]);
});
