import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { getAgentByName } from "../../src/agent-class/index.ts";
import { ALARM_LIMITS_VARIABLE } from "../../src/host/process-alarms.ts";
import { Clerk } from "./clerk.ts";
import { alarmOf, env, errorOf, fetchPath, inside, rawStub, sqlOf, uniqueName } from "./world.ts";

/** Builds a second instance on the live object's storage, counting what its constructor asks of the platform. */
function buildAgain(stub: DurableObjectStub<Clerk>) {
  return inside(stub, (_clerk, state) => {
    const { sql } = state.storage;
    const cursors: { query: string; cursor: SqlStorageCursor<Record<string, SqlStorageValue>> }[] = [];
    const exec = sql.exec.bind(sql);
    const counted = (query: string, ...values: unknown[]) => {
      const cursor = exec(query, ...values);
      cursors.push({ query, cursor });
      return cursor;
    };
    Object.defineProperty(sql, "exec", { value: counted, configurable: true });
    const network = vi.spyOn(globalThis, "fetch");
    const asked: PropertyKey[] = [];
    const watchedEnv = new Proxy({}, { get: (_target, key) => void asked.push(key) });
    try {
      const clerk = new Clerk(state, watchedEnv);
      const reads = cursors.map(({ query, cursor }) => ({
        query,
        rowsRead: cursor.rowsRead,
        rowsWritten: cursor.rowsWritten
      }));
      return { reads, fetches: network.mock.calls.length, asked, built: clerk.duringConstruction };
    } finally {
      network.mockRestore();
      Reflect.deleteProperty(sql, "exec");
    }
  });
}

test("the constructor of an up-to-date object reads one row, writes none and asks no other object", async () => {
  const clerk = await getAgentByName(env.Clerk, uniqueName());
  await clerk.book(3_600, "record", "x".repeat(10_000));
  const { reads, fetches, asked, built } = await buildAgain(clerk);
  expect(reads).toEqual([{ query: expect.stringContaining("FROM cf_meta") as string, rowsRead: 1, rowsWritten: 0 }]);
  // A variable, and no binding.
  expect([fetches, asked, built]).toEqual([0, [ALARM_LIMITS_VARIABLE], 42]);
});

test("an object written by a newer version is refused by name and left as it is", async () => {
  const name = uniqueName();
  const clerk = await getAgentByName(env.Clerk, name);
  await clerk.book(3_600, "record", "precious");
  const dump = (storage: DurableObjectStorage) =>
    ["cf_meta", "cf_work", "log"].map((table) => storage.sql.exec(`SELECT * FROM ${table}`).toArray());
  const refusal = await inside(clerk, (_clerk, state) => {
    state.storage.sql.exec("UPDATE cf_meta SET version = 999");
    const before = dump(state.storage);
    let error: unknown;
    try {
      new Clerk(state, {});
    } catch (caught) {
      error = caught;
    }
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return { code, isUntouched: JSON.stringify(before) === JSON.stringify(dump(state.storage)) };
  });
  expect(refusal).toEqual({ code: "newer-schema", isUntouched: true });
  await evictDurableObject(clerk);
  const message = "This object was written by a newer version and cannot be opened.";
  expect(await errorOf(() => rawStub(env.Clerk, name).entries())).toContain(message);
  expect(await errorOf(() => fetchPath(`/agents/clerk/${name}/x`))).toContain(message);
});

interface Corruption {
  table: string;
  prepare: (clerk: DurableObjectStub<Clerk>) => Promise<unknown>;
  statement: string;
}

const corruptions: Corruption[] = [
  {
    table: "cf_state",
    prepare: (clerk) => inside(clerk, (agent) => agent.setState({ total: 5 })),
    statement: "UPDATE cf_state SET json = '{broken'"
  },
  {
    table: "cf_work",
    prepare: (clerk) => clerk.book(3_600, "record", "x"),
    statement: "UPDATE cf_work SET payload = '{broken', due_at = 1"
  },
  {
    table: "cf_work",
    prepare: (clerk) => clerk.book("0 0 1 1 *", "record", "x"),
    statement: "UPDATE cf_work SET payload = json_set(payload, '$.detail', 'nonsense'), due_at = 1"
  },
  {
    table: "cf_work",
    prepare: () => Promise.resolve(),
    statement:
      "INSERT INTO cf_work (kind, key, lane, payload, due_at, created_at) VALUES ('queue', 'q', 'record', '{broken', 1, 1)"
  },
  {
    table: "cf_fibers",
    prepare: () => Promise.resolve(),
    statement: `INSERT INTO cf_fibers (id, name, managed, status, snapshot, created_at)
                VALUES ('f', 'torn', 0, 'running', '{broken', 1)`
  }
];

test.for(corruptions)(
  "a row of $table that cannot be read is set aside and the agent boots ($statement)",
  async (corruption) => {
    const name = uniqueName();
    const clerk = await getAgentByName(env.Clerk, name);
    await corruption.prepare(clerk);
    await sqlOf(clerk, corruption.statement);
    await evictDurableObject(clerk);
    const again = rawStub(env.Clerk, name);
    expect(await again.double(4)).toBe(8);
    await inside(again, (agent) => expect(agent.state).toEqual({ total: 0 }));
    // The restart armed an alarm for what is due; it may already have fired by itself.
    await runDurableObjectAlarm(again);
    await expect
      .poll(() =>
        sqlOf(again, "SELECT source, body LIKE '%broken%' OR body LIKE '%nonsense%' AS kept FROM cf_quarantine")
      )
      .toEqual([{ source: corruption.table, kept: 1 }]);
    expect(await again.double(5)).toBe(10);
    await expect.poll(() => alarmOf(again)).toBeNull();
  }
);

test("a damaged identity falls back to what the platform says", async () => {
  const name = uniqueName();
  const clerk = await getAgentByName(env.Clerk, name);
  await sqlOf(clerk, "UPDATE cf_meta SET identity = '{broken'");
  await evictDurableObject(clerk);
  expect(await inside(rawStub(env.Clerk, name), (agent) => agent.name)).toBe(name);
  expect(await rawStub(env.Clerk, name).entries()).toEqual(["start", "start"]);
});
