import { expect, test } from "vitest";
import { DurableObject } from "#platform";
import { createTestHost, CrashChangedOutcome, everyCrash } from "./index.ts";

class Transfer extends DurableObject {
  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env as never);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS money (who TEXT PRIMARY KEY, amount INTEGER)");
    ctx.storage.sql.exec("INSERT OR IGNORE INTO money VALUES ('ann', 10), ('bob', 0)");
  }
  #move(amount: number) {
    const { sql } = this.ctx.storage;
    sql.exec("UPDATE money SET amount = amount - ? WHERE who = 'ann'", amount);
    sql.exec("UPDATE money SET amount = amount + ? WHERE who = 'bob'", amount);
  }
  moveCarelessly(id: string) {
    if (this.ctx.storage.kv.get(id) !== undefined) return;
    this.#move(3);
    this.ctx.storage.kv.put(id, true);
  }
  moveOnce(id: string) {
    this.ctx.storage.transactionSync(() => this.moveCarelessly(id));
  }
}

const create = () => createTestHost({ agents: { Transfer } });
type Host = ReturnType<typeof create>;
const inspect = (host: Host) => host.sql(Transfer, "a", "SELECT * FROM money");
const moveOnce = async (host: Host) => (await host.get(Transfer, "a")).moveOnce("m1");
const moveCarelessly = async (host: Host) => (await host.get(Transfer, "a")).moveCarelessly("m1");

test("work that is safe everywhere passes at every write and every await", async () => {
  const result = await everyCrash({ create, script: moveOnce, finish: moveOnce, inspect });
  // Two awaits: delivery and return. Writes: table, rows, two updates, the kv key.
  expect(result).toEqual({ points: 7, differences: [] });
});

test("work that is not safe is reported point by point, with both outcomes", async () => {
  const failure = await everyCrash({ create, script: moveCarelessly, finish: moveCarelessly, inspect }).catch(
    (error: unknown) => error
  );
  if (!(failure instanceof CrashChangedOutcome)) throw new Error("expected CrashChangedOutcome");
  expect(failure.differences.map(({ point }) => point)).toEqual(["write 3", "write 4"]);
  expect(failure.message).toContain("2 of 7 crash points changed the outcome");
  expect(failure.message).toContain('"who":"ann","amount":4');
});

test("points can be chosen and limited", async () => {
  const run = (options: { points?: "writes" | "awaits"; limit?: number }) =>
    everyCrash({ create, script: moveOnce, finish: moveOnce, inspect, ...options });
  expect((await run({ points: "writes" })).points).toBe(5);
  expect((await run({ points: "awaits" })).points).toBe(2);
  expect((await run({ limit: 3 })).points).toBe(3);
});

test("a script that fails by itself fails the run", async () => {
  const script = async () => {
    throw new Error("the script is wrong");
  };
  await expect(everyCrash({ create, script, inspect })).rejects.toThrow("the script is wrong");
});
