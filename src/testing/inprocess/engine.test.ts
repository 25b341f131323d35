// The life of objects: delivery order, gates, resets, eviction, restart.
import { expect, test } from "vitest";
import { DurableObject, platformOf } from "#platform";
import { createTestHost } from "../index.ts";

class Probe extends DurableObject {
  readonly log: string[] = [];
  memory = 0;

  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env as never);
    void ctx.blockConcurrencyWhile(async () => {
      this.log.push("block-start");
      await platformOf(ctx).clock.sleep(5);
      this.log.push("block-end");
    });
    this.log.push("constructed");
  }

  entries() {
    return this.log;
  }
  bump() {
    return ++this.memory;
  }
  async sleepy(label: string, ms: number) {
    this.log.push(`${label}-start`);
    await platformOf(this.ctx).clock.sleep(ms);
    this.log.push(`${label}-end`);
  }
  async blockAndFail() {
    try {
      await this.ctx.blockConcurrencyWhile(async () => {
        throw Object.assign(new Error("broken"), { code: "c1" });
      });
    } catch {
      return "caught";
    }
    return "passed";
  }
  async twoBlocks() {
    const order: string[] = [];
    const block = (name: string) =>
      this.ctx.blockConcurrencyWhile(async () => {
        order.push(`${name}-start`);
        await this.ctx.blockConcurrencyWhile(async () => {
          order.push(`${name}-nested`);
        });
        order.push(`${name}-end`);
      });
    await Promise.all([block("a"), block("b")]);
    return order;
  }
  blockFor(ms: number) {
    return this.ctx.blockConcurrencyWhile(() => platformOf(this.ctx).clock.sleep(ms));
  }
  stop() {
    this.ctx.abort("enough");
  }
  forever() {
    return new Promise<void>(() => {});
  }
  identity() {
    return { name: this.ctx.id.name, text: this.ctx.id.toString(), props: this.ctx.props };
  }
  later(ms: number) {
    this.ctx.waitUntil(platformOf(this.ctx).clock.sleep(ms));
  }
  async hash() {
    const digest = await crypto.subtle.digest("SHA-256", new Uint8Array(1_000_000));
    this.log.push(`hashed ${digest.byteLength}`);
  }
  ids() {
    const { ids } = platformOf(this.ctx);
    return [ids.next(), ids.next(), ids.random()];
  }
}

const open = () => createTestHost({ agents: { Probe } });
const started = async () => {
  const host = open();
  const probe = await host.get(Probe, "a");
  const first = probe.entries();
  await host.advance(5);
  await first;
  return { host, probe };
};

test("the constructor ends before blockConcurrencyWhile begins, and no event starts before it ends", async () => {
  const { probe } = await started();
  expect(await probe.entries()).toEqual(["constructed", "block-start", "block-end"]);
});

class Eager extends DurableObject {
  hasSettled = false;

  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env as never);
    void Promise.resolve().then(() => (this.hasSettled = true));
  }
  settled() {
    return this.hasSettled;
  }
}

test("microtasks of the constructor run before the first event", async () => {
  const host = createTestHost({ agents: { Eager } });
  expect(await (await host.get(Eager, "a")).settled()).toBe(true);
});

test("events start in order of arrival and interleave where they await", async () => {
  const { host, probe } = await started();
  const all = Promise.all([probe.sleepy("slow", 100), probe.sleepy("quick", 10)]);
  await host.advance(100);
  await all;
  expect((await probe.entries()).slice(3)).toEqual(["slow-start", "quick-start", "quick-end", "slow-end"]);
});

test("a failing block resets the object: nothing in it goes on, the caller gets the error, a new stub works", async () => {
  const { host, probe } = await started();
  await probe.bump();
  const other = probe.forever();
  const failed = await probe.blockAndFail().catch((error: unknown) => error);
  expect(failed).toMatchObject({ message: "broken", code: "c1", durableObjectReset: true });
  await expect(other).rejects.toThrow("broken");
  await expect(probe.bump()).rejects.toThrow("broken");
  const again = (await host.get(Probe, "a")).bump();
  await host.advance(5);
  expect(await again).toBe(1);
});

test("sibling blocks run one after the other, nested ones at once", async () => {
  const { probe } = await started();
  expect(await probe.twoBlocks()).toEqual(["a-start", "a-nested", "a-end", "b-start", "b-nested", "b-end"]);
});

test("a block of more than 30 s resets the object", async () => {
  const { host, probe } = await started();
  const blocked = probe.blockFor(31_000).catch((error: Error) => error.message);
  await host.advance(30_000);
  expect(await blocked).toContain("waited for too long");
});

test("abort rejects calls in flight with the reason and breaks the stub that was used", async () => {
  const { host, probe } = await started();
  const waiting = probe.forever().catch((error: unknown) => error);
  await expect(probe.stop()).rejects.toThrow("enough");
  expect(await waiting).toMatchObject({ message: "enough", durableObjectReset: true });
  await expect(probe.bump()).rejects.toThrow("enough");
  const again = (await host.get(Probe, "a")).bump();
  await host.advance(5);
  expect(await again).toBe(1);
});

test("eviction loses memory, keeps the stub, and refuses while the object works", async () => {
  const { host, probe } = await started();
  expect(await probe.bump()).toBe(1);
  void probe.sleepy("x", 50);
  await expect(host.evict(Probe, "a")).rejects.toThrow("still working");
  await host.advance(50);
  await host.evict(Probe, "a");
  const again = probe.bump();
  await host.advance(5);
  expect(await again).toBe(1);
});

test("waitUntil keeps an object from being evicted until the promise settles", async () => {
  const { host, probe } = await started();
  await probe.later(100);
  await expect(host.evictAll()).rejects.toThrow("still working");
  await host.advance(100);
  await host.evictAll();
});

test("after a restart memory is gone and callers outside learn that the process died", async () => {
  const { host, probe } = await started();
  await probe.bump();
  const waiting = probe.forever().catch((error: Error) => error.name);
  await host.restart();
  expect(await waiting).toBe("ProcessDied");
  const again = probe.bump();
  await host.advance(5);
  expect(await again).toBe(1);
});

test("time stands still unless advanced, and idle waits for WebCrypto", async () => {
  const { host, probe } = await started();
  const before = host.now;
  void probe.hash();
  await host.idle();
  expect(await probe.entries()).toContain("hashed 32");
  expect(host.now).toBe(before);
});

test("an object knows the name it was reached by", async () => {
  const { probe } = await started();
  expect(await probe.identity()).toMatchObject({ name: "a", props: {} });
  expect((await probe.identity()).text).toMatch(/^[0-9a-f]{64}$/);
});

test("ids come from the seed and are not repeated after a restart", async () => {
  const { host, probe } = await started();
  const first = await probe.ids();
  const { probe: twin } = await started();
  expect(await twin.ids()).toEqual(first);
  expect(first[0]).toMatch(/^[\w-]{21}$/);
  await host.restart();
  const second = probe.ids();
  await host.advance(5);
  expect(await second).not.toEqual(first);
});

class Spinner extends DurableObject {
  override async alarm() {
    await this.ctx.storage.setAlarm(platformOf(this.ctx).clock.now());
  }
  spin() {
    return this.alarm();
  }
}

test("a host that can never become idle says so instead of hanging", async () => {
  const host = createTestHost({ agents: { Spinner } });
  await (await host.get(Spinner, "a")).spin();
  await expect(host.idle()).rejects.toThrow("still working after");
  host.kill();
});
