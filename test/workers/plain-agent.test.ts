// What an agent without a conversation has on the real platform: MCP servers over an eviction, and sub-agents as tools.
import { evictDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { connect, env, plain, rawStub, sqlOf, uniqueName } from "./world.ts";

/** What is on its way through other objects takes its time on a busy machine. */
const PATIENTLY = { timeout: 10_000 };

test("in workerd an agent adds an MCP server, shows it to clients, and has it again after an eviction", async () => {
  const name = uniqueName("harbour");
  const stub = rawStub(env.Harbour, name);
  const socket = await connect(`/agents/harbour/${name}`);
  expect(await socket.next("cf_agent_mcp_servers")).toMatchObject({ mcp: { servers: {} } });
  expect(await sqlOf(stub, "SELECT name FROM sqlite_master WHERE name LIKE 'cf_mcp%'")).toEqual([]);
  expect(await stub.addTides()).toBe("ready");
  expect(await stub.tide("Dover")).toContain("High water at Dover.");
  await vi.waitFor(() => expect(JSON.stringify(socket.frames.at(-1))).toContain('"state":"ready"'), PATIENTLY);
  // An open stream of notifications keeps the object in memory.
  await stub.hangUp();
  await evictDurableObject(stub);
  expect(await rawStub(env.Harbour, name).tide("Brest")).toContain("High water at Brest.");
});

test("in workerd an agent runs a chat agent as its child, its clients follow, and the run is cancelled by its id", async () => {
  const name = uniqueName("harbour");
  const stub = rawStub(env.Harbour, name);
  const socket = await connect(`/agents/harbour/${name}`);
  await socket.next("cf_agent_identity");
  expect(await plain(stub.order("one", "aye"))).toMatchObject({ status: "completed", summary: "aye" });
  const kinds = () =>
    (socket.frames as { type: string; event?: { kind: string } }[]).flatMap(({ event }) => event?.kind ?? []);
  await vi.waitFor(() => expect([kinds()[0], kinds().at(-1)]).toEqual(["started", "finished"]), PATIENTLY);
  const waiting = plain(stub.order("two", "wait"));
  await vi.waitFor(() => expect(kinds().filter((kind) => kind === "chunk").length).toBeGreaterThan(2), PATIENTLY);
  await stub.cancelAgentToolRun("two", "storm");
  expect(await waiting).toMatchObject({ status: "aborted", error: "storm" });
  expect(await plain(stub.order("one", "again"))).toMatchObject({ status: "completed", summary: "aye" });
});
