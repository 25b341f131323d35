// Death of the process at a chosen point: what survives, and that the dead cannot act.
import fc from "fast-check";
import { expect, test } from "vitest";
import { DurableObject, openSocketPair, platformOf } from "#platform";
import { createTestHost } from "../index.ts";

const effects: string[] = [];

class Ledger extends DurableObject<{ Ledger: DurableObjectNamespace<Ledger> }> {
  constructor(ctx: DurableObjectState, env: { Ledger: DurableObjectNamespace<Ledger> }) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS entries (value TEXT)");
  }
  #add(value: string) {
    this.ctx.storage.sql.exec("INSERT INTO entries VALUES (?)", value);
  }
  add(...values: string[]) {
    for (const value of values) this.#add(value);
  }
  addTogether(...values: string[]) {
    this.ctx.storage.transactionSync(() => {
      for (const value of values) {
        this.#add(value);
        for (const socket of this.ctx.getWebSockets()) socket.send(value);
      }
    });
  }
  addStubbornly(...values: string[]) {
    this.ctx.storage.transactionSync(() => {
      for (const value of values) {
        try {
          this.#add(value);
        } catch (error) {
          effects.push(String(error));
        }
      }
    });
  }
  async sleepThenAdd(value: string) {
    try {
      await platformOf(this.ctx).clock.sleep(100);
      effects.push("woke");
      this.#add(value);
    } finally {
      effects.push("finally");
    }
  }
  async forward(value: string) {
    await this.env.Ledger.getByName("other").add(value);
    effects.push("forwarded");
  }
  float(value: string) {
    void (async () => {
      await this.ctx.storage.get("x");
      this.#add(value);
    })();
  }
  addThenNotify(value: string) {
    queueMicrotask(() => this.ctx.getWebSockets());
    this.#add(value);
  }
  abortWhileFloating() {
    void (async () => {
      await this.ctx.storage.get("x");
      this.#add("never");
    })();
    this.ctx.abort("gone");
  }
  override fetch() {
    const { server, response } = openSocketPair();
    this.ctx.acceptWebSocket(server);
    return response;
  }
}

function open() {
  effects.length = 0;
  return createTestHost({ agents: { Ledger } });
}
const entries = (host: ReturnType<typeof open>, name = "a") =>
  host.sql<{ value: string }>(Ledger, name, "SELECT value FROM entries").map(({ value }) => value);
const started = async () => {
  const host = open();
  const ledger = await host.get(Ledger, "a");
  await ledger.add();
  return { host, ledger };
};

test("a crash after a write keeps that write and nothing after it", async () => {
  const { host, ledger } = await started();
  host.crashAfterWrite(2);
  await expect(ledger.add("1", "2", "3")).rejects.toMatchObject({ name: "ProcessDied" });
  expect(host.crashed).toBe(true);
  expect(entries(host)).toEqual(["1", "2"]);
  await expect(ledger.add("4")).rejects.toMatchObject({ name: "ProcessDied" });
  await expect(host.fetch("/agents/ledger/a")).rejects.toMatchObject({ name: "ProcessDied" });
  await host.restart();
  expect(host.crashed).toBe(false);
  await ledger.add("5");
  expect(entries(host)).toEqual(["1", "2", "5"]);
});

test("a crash inside a transaction keeps nothing of it, and what it sent is never seen", async () => {
  const { host, ledger } = await started();
  const socket = await host.connect("/agents/ledger/a");
  host.crashAfterWrite(2);
  await expect(ledger.addTogether("1", "2", "3")).rejects.toMatchObject({ name: "ProcessDied" });
  await host.idle();
  expect(entries(host)).toEqual([]);
  expect(socket.frames).toEqual([]);
  expect(socket.closed).toEqual({ code: 1006, reason: "" });
});

test("code that swallows the death cannot write any more", async () => {
  const { host, ledger } = await started();
  host.crashAfterWrite(1);
  await expect(ledger.addStubbornly("1", "2")).rejects.toMatchObject({ name: "ProcessDied" });
  expect(effects).toHaveLength(2);
  expect(entries(host)).toEqual([]);
});

test("what a dead object was waiting for never comes, not even its finally", async () => {
  const { host, ledger } = await started();
  void ledger.sleepThenAdd("1");
  await host.idle();
  await host.restart();
  await host.advance(1_000);
  expect(effects).toEqual([]);
  expect(entries(host)).toEqual([]);
});

test("awaits are counted one by one, and a crash at each leaves a prefix of the work", async () => {
  const { host, ledger } = await started();
  const before = host.counts.awaits;
  await ledger.forward("x");
  const awaits = host.counts.awaits - before;
  expect(awaits).toBe(4);
  for (let point = 1; point <= awaits; point++) {
    const run = await started();
    run.host.crashInsideAwait(point);
    await expect(run.ledger.forward("x")).rejects.toMatchObject({ name: "ProcessDied" });
    const isWritten = point > 2;
    await run.host.restart();
    await (await run.host.get(Ledger, "other")).add();
    expect([entries(run.host, "other"), effects]).toEqual([isWritten ? ["x"] : [], point > 3 ? ["forwarded"] : []]);
  }
});

test("a floating promise of a dead object does not fail the test run", async () => {
  const { host, ledger } = await started();
  host.crashAfterWrite(1);
  await ledger.float("1").catch(() => "the call may or may not have returned before the crash");
  expect(await host.untilCrashOrIdle()).toBe(true);
  expect(entries(host)).toEqual(["1"]);
});

test("microtasks and floating promises of a dead or reset object fail silently", async () => {
  const { host, ledger } = await started();
  host.crashAfterWrite(1);
  await expect(ledger.addThenNotify("1")).rejects.toMatchObject({ name: "ProcessDied" });
  await host.restart();
  await expect((await host.get(Ledger, "a")).abortWhileFloating()).rejects.toThrow("gone");
  await host.idle();
  expect(entries(host)).toEqual(["1"]);
});

test("a boundary of a fake is an await, and never passes in a dead process", async () => {
  const host = open();
  const before = host.counts.awaits;
  await host.boundary();
  expect(host.counts.awaits).toBe(before + 1);
  host.crashInsideAwait(1);
  let hasPassed = false;
  void host.boundary().then(() => (hasPassed = true));
  expect(await host.untilCrashOrIdle()).toBe(true);
  expect(hasPassed).toBe(false);
});

test("rows and writes are counted; reads and no-ops are not writes", async () => {
  const { host, ledger } = await started();
  const before = host.counts;
  await ledger.add("1", "2");
  await ledger.add();
  const { writes, rowsWritten } = host.counts;
  expect([writes - before.writes, rowsWritten - before.rowsWritten]).toEqual([2, 2]);
});

interface Batch {
  readonly isTogether: boolean;
  readonly size: number;
}

/** How many writes survive a crash right after write number `point`: a transaction counts only if it ended before. */
function committedBefore(point: number, batches: readonly Batch[]): number {
  let written = 0;
  for (const { isTogether, size } of batches) {
    if (written + size >= point) return isTogether ? written : point;
    written += size;
  }
  return written;
}

test("whatever the mix of plain and transactional writes, a crash keeps exactly the committed prefix", async () => {
  const batch = fc.record({ isTogether: fc.boolean(), size: fc.integer({ min: 1, max: 4 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 5 }), fc.nat(19), async (batches, at) => {
      const { host, ledger } = await started();
      const total = batches.reduce((sum, { size }) => sum + size, 0);
      const point = (at % total) + 1;
      host.crashAfterWrite(point);
      let next = 0;
      for (const { isTogether, size } of batches) {
        const values = Array.from({ length: size }, () => String(next++));
        await (isTogether ? ledger.addTogether(...values) : ledger.add(...values)).catch(() => "dead");
      }
      const committed = committedBefore(point, batches);
      expect(entries(host)).toEqual(Array.from({ length: committed }, (_, index) => String(index)));
    }),
    { numRuns: 60 }
  );
});
