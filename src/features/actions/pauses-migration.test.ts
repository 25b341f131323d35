// Actions that wait as schema version 7 stored them, in every state, are items of durable work with the first use.
import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { sha256 } from "../../host/blobs.ts";
import { canonicalJson } from "../../util/json.ts";
import { readWaitingRows } from "../approvals/waiting-rows.ts";
import { Process, settle, START_MS, World } from "./actions.test-support.ts";
import { action } from "./feature.ts";

const DAY_MS = 24 * 3_600_000;

/** As it was released. */
const LAYOUT = [
  `CREATE TABLE cf_action_pauses (
    id INTEGER PRIMARY KEY, execution_id TEXT NOT NULL UNIQUE, state TEXT NOT NULL, action TEXT NOT NULL,
    tool_call_id TEXT NOT NULL, turn_id TEXT NOT NULL, request_id TEXT NOT NULL, message_id TEXT NOT NULL,
    input TEXT NOT NULL, input_hash TEXT NOT NULL, descriptor TEXT NOT NULL, grant_snapshot TEXT NOT NULL,
    created_at INTEGER NOT NULL, due_at INTEGER, decided_at INTEGER, decided_by TEXT, reason TEXT, outcome TEXT
  )`,
  "CREATE INDEX cf_action_pauses_due ON cf_action_pauses (due_at) WHERE due_at IS NOT NULL"
];

interface Row {
  readonly state: string;
  readonly due_at?: number | string | null;
  readonly decided_at?: number;
  readonly decided_by?: string;
  readonly reason?: string;
  readonly outcome?: string;
  readonly input?: string;
  readonly input_hash?: string;
  readonly descriptor?: string;
  readonly grant_snapshot?: string;
  readonly created_at?: number | string;
}

const input = { ref: "main", note: null };
const text = canonicalJson(input);
const callOf = (name: string) => `call-${name}`;
const descriptorOf = (name: string) => ({
  ...{
    requestId: "r",
    toolCallId: callOf(name),
    action: "deploy",
    summary: "Deploy",
    input,
    permissions: ["deploy:run"]
  },
  ...{ risk: "high", kind: "durable-pause" }
});

let world: World;
let ran: unknown[];

const boot = () =>
  new Process(world, () => ({
    deploy: action({
      description: "Deploy.",
      inputSchema: z.object({ ref: z.string(), note: z.null() }),
      kind: "durable-pause",
      execute: (given, { toolCallId }) => {
        ran.push([toolCallId, given]);
        return "deployed";
      }
    })
  }));

/** A row of the old table, and the call that shows it as paused. */
function store(name: string, row: Row): void {
  const full = {
    ...{ execution_id: `actpause_${name}`, action: "deploy", tool_call_id: callOf(name), turn_id: `turn-${name}` },
    ...{ request_id: "r", message_id: "m", input: text, input_hash: sha256(text) },
    ...{ descriptor: JSON.stringify(descriptorOf(name)), grant_snapshot: '{"allowed":true}', created_at: START_MS },
    ...row
  };
  const columns = Object.keys(full);
  world.sql(
    `INSERT INTO cf_action_pauses (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    ...Object.values(full)
  );
  const isOver = row.state.startsWith("closed");
  world.sql("INSERT INTO test_calls VALUES (?, ?, 'null')", callOf(name), isOver ? "resolved" : "paused");
}

function part(name: string): unknown {
  const rows = world.rows<{ tool_call_id: string; output: string }>("SELECT tool_call_id, output FROM test_calls");
  return JSON.parse(rows.find((row) => row.tool_call_id === callOf(name))?.output ?? "null");
}

const left = () =>
  world.rows<{ key: string }>("SELECT key FROM cf_work WHERE settled_at IS NULL ORDER BY id").map(({ key }) => key);

beforeEach(() => {
  world = new World(new DatabaseSync(":memory:"));
  ran = [];
  for (const statement of LAYOUT) world.sql(statement);
});

test("a question of before is listed with what was asked, waits as long as it did, and can be decided", async () => {
  store("soon", { state: "parked", due_at: START_MS + DAY_MS });
  store("ever", { state: "parked", due_at: null });
  store("odd", { state: "parked", due_at: "never" });
  const process = boot();
  const [soon, ...others] = process.pending();
  expect(soon).toMatchObject({
    executionId: "actpause_soon",
    source: "action",
    descriptor: descriptorOf("soon"),
    inputHash: sha256(text),
    expiresAt: START_MS + DAY_MS
  });
  expect(others.map(({ executionId, expiresAt }) => [executionId, expiresAt])).toEqual([
    ["actpause_ever", undefined],
    ["actpause_odd", undefined]
  ]);
  expect(world.rows("SELECT name FROM sqlite_master WHERE name LIKE 'cf_action_pauses%'")).toEqual([]);
  expect(process.nextWake()).toBe(START_MS + DAY_MS);
  expect(await process.approve("actpause_ever", { by: "ada" })).toBe("deployed");
  expect(ran).toEqual([[callOf("ever"), input]]);
  world.nowMs += DAY_MS;
  await process.wake();
  expect(part("soon")).toMatchObject({ status: "expired" });
  expect(left()).toEqual(["actpause_odd"]);
});

test("a question in the file of an agent that has not started since is found there, and as before when it has", () => {
  store("soon", { state: "parked", due_at: START_MS + DAY_MS });
  store("over", { state: "closed", decided_at: START_MS });
  store("decided", { state: "approved", due_at: START_MS + DAY_MS });
  const found = () => readWaitingRows((query) => world.rows(query));
  const before = found();
  expect(before).toEqual([{ id: "actpause_soon", askedAt: START_MS, expiresAt: START_MS + DAY_MS }]);
  boot().pending();
  expect(found()).toEqual(before);
});

test("what was decided before goes on at a start: it runs, is refused, or finds its place", async () => {
  store("approved", { state: "approved", due_at: START_MS, decided_at: START_MS, decided_by: "ada" });
  store("failing", { state: "approved", due_at: START_MS + 60_000, decided_at: START_MS });
  store("odd", { state: "approved", due_at: "soon", decided_at: START_MS });
  store("rejected", { state: "rejected", due_at: START_MS, decided_at: START_MS, decided_by: "ada", reason: "no" });
  store("done", { state: "done", due_at: null, decided_at: START_MS, outcome: '{"was":"done"}' });
  store("nothing", { state: "done", due_at: null, decided_at: START_MS });
  const process = boot();
  await process.resume();
  expect(ran).toEqual([
    [callOf("approved"), input],
    [callOf("odd"), input]
  ]);
  expect(["approved", "odd", "done", "nothing"].map(part)).toEqual(["deployed", "deployed", { was: "done" }, null]);
  expect(part("rejected")).toMatchObject({ status: "rejected", reason: "no" });
  expect(process.actions.listActionLedger().map(({ approver }) => approver)).toContain("ada");
  expect([left(), process.nextWake()]).toEqual([["actpause_failing"], START_MS + 60_000]);
  world.nowMs += 60_000;
  await process.wake();
  await settle();
  expect([part("failing"), left(), process.nextWake()]).toEqual(["deployed", [], null]);
});

test("what was over before is known for the rest of its day, under each name that it had, and does nothing", async () => {
  for (const state of ["closed", "closed-approved", "closed-rejected"])
    store(state, { state, decided_at: START_MS - DAY_MS / 2, outcome: '"the first answer"' });
  store("old", { state: "closed", decided_at: START_MS - DAY_MS });
  const process = boot();
  expect(process.pending()).toEqual([]);
  expect(
    world.rows("SELECT key, settled_at, due_at, json_extract(payload, '$.outcome') AS outcome FROM cf_work ORDER BY id")
  ).toMatchObject([
    ...["closed", "closed-approved", "closed-rejected"].map((state) => ({
      ...{ key: `actpause_${state}`, settled_at: START_MS - DAY_MS / 2, due_at: null, outcome: "the first answer" }
    })),
    { key: "actpause_old", outcome: null }
  ]);
  world.nowMs += 1;
  await process.resume();
  expect([ran, process.nextWake(), world.rows("SELECT * FROM cf_work").length]).toEqual([[], null, 3]);
});

const GARBAGE: Record<string, Partial<Row>> = {
  state: { state: '{"broken' },
  input: { input: "{" },
  "another input": { input: '{"ref":"evil"}' },
  "another hash": { input_hash: "evil" },
  descriptor: { descriptor: "{" },
  "a descriptor that is none": { descriptor: "7" },
  grant: { grant_snapshot: "{" },
  outcome: { state: "done", outcome: "{" }
};

test.each(Object.keys(GARBAGE))(
  "a row of before with garbage (%s) is set aside, and its place says so",
  async (what) => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    store("bad", { state: "approved", due_at: null, decided_at: START_MS, ...GARBAGE[what] });
    store("good", { state: "parked" });
    const process = boot();
    expect(process.pending().map(({ executionId }) => executionId)).toEqual(["actpause_good"]);
    await process.resume();
    expect(part("bad")).toMatchObject({ status: "error", executionId: "actpause_bad" });
    expect(world.rows("SELECT source, row_key FROM cf_quarantine")).toEqual([
      { source: "cf_work", row_key: "paused-action:actpause_bad" }
    ]);
    expect([ran, left()]).toEqual([[], ["actpause_good"]]);
  }
);
