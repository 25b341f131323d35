// A disk on which nothing can be written any more: what is stored is still shown to everybody who may see it, and a new
// question is refused by name. Each test is named after its promise. Every statement that would write fails as SQLite
// fails it; everything above is real.
import { StatementSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { AgentView, InboxView, StateView, TurnsView } from "../../src/features/inspection/views.ts";
import { reply, text, toolCall } from "../../src/testing/index.ts";
import { ask, look, open, Subject, type Host } from "./inspection-kit.ts";
import { ask as askOver, framesOf } from "../kit/frames.ts";

const WRITES = /^\s*(?:INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER)\b/i;

let isFull = false;
let refused: string[] = [];
let logged: ReturnType<typeof vi.spyOn>;

beforeEach(() => {
  isFull = false;
  refused = [];
  logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const all = StatementSync.prototype.all;
  vi.spyOn(StatementSync.prototype, "all").mockImplementation(function (this: StatementSync, ...values) {
    if (isFull && WRITES.test(this.sourceSQL)) {
      refused.push(this.sourceSQL);
      throw Object.assign(new Error("database or disk is full"), { errcode: 13 });
    }
    return all.apply(this, values);
  });
});
afterEach(() => void vi.restoreAllMocks());

const lines = (): string[] => logged.mock.calls.map((line: unknown[]) => line.map(String).join(" "));

const HOUR_MS = 3_600_000;

/** An answered question, an approval that waits, a state, a schedule; and then the disk is full. */
async function filled(): Promise<Host> {
  const host = open([reply(toolCall("pay", { euros: 7 })), reply(text("It waits.")), reply(text("never"))]);
  await ask(host, "please");
  const agent = await host.get(Subject, "a");
  await agent.prepare();
  await agent.setState({ mood: "calm" });
  await host.idle();
  return host;
}

const WAYS: Record<string, (host: Host) => Promise<void>> = {
  "is in memory": async () => undefined,
  "starts again": (host) => host.restart(),
  "starts again with a schedule and records that are past their time": async (host) => {
    await host.restart();
    await host.advance(2 * HOUR_MS);
  }
};

describe.each(Object.entries(WAYS))("an agent that %s when the disk is full", (way, passes) => {
  let host: Host;
  /** A visit tries to clean up and to be woken; what it came for is answered whether or not that can be written. */
  const expectedWrites = (): void => {
    if (way === "is in memory") expect(refused).toEqual([]);
    else expect(refused.filter((statement) => !/_cf_METADATA|^DELETE FROM cf_journal/.test(statement))).toEqual([]);
    if (way.includes("past their time")) expect(refused).toContain("DELETE FROM cf_journal WHERE last <= ?");
  };
  beforeEach(async () => {
    host = await filled();
    // Only visits wake it.
    host.loseAlarm(Subject, "a");
    isFull = true;
    await passes(host);
    refused = [];
  });

  test("shows its messages", async () => {
    const response = await host.fetch("/agents/subject/a/get-messages");
    expect(response.status).toBe(200);
    expect((await response.json()) as object[]).toHaveLength(2);
    expectedWrites();
  });

  test("lets clients connect, and shows them messages and state", async () => {
    const socket = await host.connect("/agents/subject/a");
    await host.idle();
    const types = framesOf(socket).map(({ type }) => type);
    expect(types).toContain("cf_agent_state");
    expect(framesOf(socket).find(({ messages }) => messages)?.messages).toHaveLength(2);
    expectedWrites();
  });

  test("lists what waits for approval", async () => {
    const agent = await host.get(Subject, "a");
    expect(await agent.pendingApprovals()).toHaveLength(1);
    expect((await host.fetch("/agents/subject/a/approvals")).status).toBe(200);
    expectedWrites();
  });

  test("answers an inspector", async () => {
    expect(await look<AgentView>(host, "agent")).toMatchObject({ name: "a", waitingApprovals: 1 });
    expect((await look<InboxView>(host, "inbox")).approvals).toHaveLength(1);
    expect((await look<TurnsView>(host, "turns")).turns).toHaveLength(1);
    expect(await look<StateView>(host, "state")).toMatchObject({
      agentState: { text: expect.stringContaining("calm") }
    });
    expectedWrites();
  });

  test("refuses a new question by name, and stores nothing of it", async () => {
    const socket = await host.connect("/agents/subject/a");
    askOver(socket, "r1");
    await host.idle();
    const end = framesOf(socket).find(({ id, done }) => id === "r1" && done);
    expect(end).toMatchObject({ error: true });
    const stored = host.sql(Subject, "a", "SELECT 1 FROM cf_journal WHERE body LIKE '%u-r1%'");
    expect(stored).toEqual([]);
    expect(lines().at(-1)).toMatch(
      /^Subject "a" \([0-9a-f]{64}\.sqlite\): .*\(request-not-stored, request r1\).*disk is full/
    );
  });

  test("names itself and its file in every line it logs about its storage", async () => {
    await host.fetch("/agents/subject/a/get-messages");
    await host.idle();
    for (const line of lines()) expect(line).toMatch(/^Subject "a" \([0-9a-f]{64}\.sqlite\)/);
    expect(lines().length).toBe(way === "is in memory" ? 0 : way === "starts again" ? 1 : 2);
  });
});

test("when there is space again, the next question is answered and nothing was lost", async () => {
  const host = await filled();
  isFull = true;
  const socket = await host.connect("/agents/subject/a");
  askOver(socket, "r1");
  await host.idle();
  isFull = false;
  askOver(socket, "r2");
  await host.idle();
  expect(framesOf(socket).find(({ id, done }) => id === "r2" && done)).toMatchObject({ outcome: "completed" });
  const agent = await host.get(Subject, "a");
  expect(await agent.pendingApprovals()).toHaveLength(1);
});

test("a row that cannot be read is logged with the agent, its file and its table", async () => {
  const host = await filled();
  await host.restart();
  host.sql(Subject, "a", "UPDATE cf_state SET json = '{'");
  await host.connect("/agents/subject/a");
  await host.idle();
  expect(lines()).toEqual([
    expect.stringMatching(
      /^Subject "a" \([0-9a-f]{64}\.sqlite\): row 1 of cf_state cannot be read and is kept in cf_quaran/
    )
  ]);
});

test("an error of user code is logged with the agent, and one of its database with the file", async () => {
  const host = open([]);
  vi.spyOn(Subject.prototype, "onRequest").mockImplementation(function (this: Subject) {
    if (this.name === "a") return Response.json(this.sql`SELECT * FROM no_such_table`);
    throw new Error("of the page");
  });
  for (const name of ["a", "b"]) await host.fetch(`/agents/subject/${name}/page`).catch(() => undefined);
  await host.idle();
  expect(lines()).toContainEqual(
    expect.stringMatching(/^Error in Subject "a" \([0-9a-f]{64}\.sqlite\): SqlError: .*no_such_table/)
  );
  expect(lines()).toContainEqual(expect.stringMatching(/^Error in Subject "b": Error: of the page/));
  expect(lines()).toContainEqual(
    expect.stringMatching(/^Subject "a" \([0-9a-f]{64}\.sqlite\): a request failed: SqlError: .*no_such_table/)
  );
});
