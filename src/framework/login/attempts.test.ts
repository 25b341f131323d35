// Who tries passwords is held up: in one process, in the app's objects, at the same moment, from one address and from many.
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import {
  attemptKeys,
  ATTEMPTS_PER_ADDRESS,
  ATTEMPTS_PER_USER,
  MAX_COUNTS,
  ProcessAttempts,
  WINDOW_MS,
  type AttemptCounts
} from "./attempts.ts";
import { LoginAttempts, SharedAttempts, type AttemptObjects } from "./attempts-object.ts";
import { createLogin } from "./login.ts";
import { userLine } from "./users.ts";

const PASSWORD = "battery staple";
let variables: Record<string, string>;
beforeAll(async () => {
  const lines = await Promise.all(["ada@example.com", "bob@example.com"].map((user) => userLine(user, PASSWORD)));
  variables = { SESSION_SECRET: "0123456789abcdef0123456789abcdef", LOGIN_USERS: lines.join(",") };
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A namespace of objects whose rows outlive them, as on the platform. */
class Objects implements AttemptObjects {
  readonly #rows = new Map<string, DatabaseSync>();
  readonly #living = new Map<string, LoginAttempts>();
  isDown = false;

  /** Every process of the app is gone. */
  restart(): void {
    this.#living.clear();
  }
  idFromName(name: string): string {
    return name;
  }
  get(id: never) {
    const object = this.#living.get(id) ?? new LoginAttempts({ storage: { sql: this.#storage(id) } });
    this.#living.set(id, object);
    const fetch = (url: string, init: RequestInit) =>
      this.isDown ? Promise.reject(new Error("No object.")) : object.fetch(new Request(url, init));
    return { fetch };
  }
  count(): number {
    const counts = [...this.#rows.values()].map((rows) => rows.prepare("SELECT COUNT(*) AS n FROM attempts").get());
    return counts.reduce((sum, row) => sum + Number(row?.["n"]), 0);
  }
  #storage(name: string) {
    const database = this.#rows.get(name) ?? new DatabaseSync(":memory:");
    this.#rows.set(name, database);
    return {
      exec: (query: string, ...values: (string | number)[]) => ({
        toArray: () => database.prepare(query).all(...values) as Record<string, unknown>[]
      })
    };
  }
}

interface Attempt {
  readonly user?: string;
  readonly password?: string;
  readonly address?: string;
}

function request({ user = "ada@example.com", password = "wrong", address }: Attempt): Request {
  const body = new URLSearchParams({ user, password }).toString();
  const headers = {
    "content-type": "application/x-www-form-urlencoded",
    "content-length": String(body.length),
    ...(address !== undefined && { "cf-connecting-ip": address })
  };
  const sent = new Request("https://app.example.com/login", { method: "POST", body, headers });
  return address === undefined ? sent : Object.assign(sent, { cf: {} });
}

const router = { route: () => Promise.resolve(new Response("agent")) };

function app(env: object = {}) {
  const login = createLogin<object>();
  return async (attempt: Attempt = {}): Promise<Response> =>
    (await login.fetch(request(attempt), { ...variables, ...env }, undefined, { router })) ?? new Response();
}

async function statuses(tries: Promise<Response>[]): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const { status } of await Promise.all(tries)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const times = <T>(count: number, one: (index: number) => T) => Array.from({ length: count }, (_, index) => one(index));

describe.each([
  ["in one process", () => ({})],
  ["in objects of the app", () => ({ LOGIN_ATTEMPTS: new Objects() })]
])("attempts are counted %s:", (_where, bindings) => {
  test("a stranger who tries 10,000 passwords at once has ten of them looked at, and is told how long to wait", async () => {
    const attempt = app(bindings());
    const derive = vi.spyOn(crypto.subtle, "deriveBits");
    expect(await statuses(times(10_000, (index) => attempt({ password: `guess ${index}` })))).toEqual({
      401: ATTEMPTS_PER_USER,
      429: 10_000 - ATTEMPTS_PER_USER
    });
    expect(derive).toHaveBeenCalledTimes(ATTEMPTS_PER_USER);
    const refused = await attempt({ password: PASSWORD });
    expect([refused.status, Number(refused.headers.get("retry-after"))]).toEqual([429, expect.any(Number)]);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(WINDOW_MS / 1_000);
    expect(await refused.text()).toContain("Too many attempts. Try again in 15 minutes.");
    // Nobody else is held up.
    expect((await attempt({ user: "bob@example.com", password: PASSWORD })).status).toBe(303);
  });

  test("an address that tries many names is held up for all of them; a right password counts for nothing", async () => {
    const attempt = app(bindings());
    const address = "203.0.113.7";
    const right = { user: "bob@example.com", password: PASSWORD, address };
    for (let index = 0; index < 12; index += 1) expect((await attempt(right)).status).toBe(303);
    const tries = times(10_000, (index) => attempt({ user: `someone-${index}@example.com`, address }));
    expect(await statuses(tries)).toEqual({ 401: ATTEMPTS_PER_ADDRESS, 429: 10_000 - ATTEMPTS_PER_ADDRESS });
    expect((await attempt(right)).status).toBe(429);
    expect((await attempt({ ...right, address: "203.0.113.8" })).status).toBe(303);
  }, 60_000);

  test("after the time is over the next attempt is looked at", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const attempt = app(bindings());
    await statuses(times(20, () => attempt()));
    vi.setSystemTime(Date.now() + WINDOW_MS - 1);
    expect((await attempt({ password: PASSWORD })).status).toBe(429);
    vi.setSystemTime(Date.now() + 1);
    expect((await attempt({ password: PASSWORD })).status).toBe(303);
  });
});

test("counts in objects hold for every process of the app, and outlive all of them", async () => {
  const objects = new Objects();
  await statuses(times(ATTEMPTS_PER_USER, () => app({ LOGIN_ATTEMPTS: objects })()));
  objects.restart();
  expect((await app({ LOGIN_ATTEMPTS: objects })({ password: PASSWORD })).status).toBe(429);
});

test("while the objects cannot be reached, attempts are counted in the process, and the log says so", async () => {
  const said = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const objects = new Objects();
  objects.isDown = true;
  const attempt = app({ LOGIN_ATTEMPTS: objects });
  expect(await statuses(times(50, () => attempt()))).toEqual({ 401: ATTEMPTS_PER_USER, 429: 40 });
  expect(said).toHaveBeenCalled();
});

test("what a client says about its address counts for nothing where no edge says it", async () => {
  const attempt = app();
  const claim = (index: number) => {
    const sent = request({ address: `198.51.100.${index}` });
    return Object.assign(sent, { cf: undefined });
  };
  const login = createLogin<object>();
  const tries = times(
    30,
    async (index) => (await login.fetch(claim(index), variables, undefined, { router })) ?? new Response()
  );
  expect(await statuses(tries)).toEqual({ 401: ATTEMPTS_PER_USER, 429: 20 });
  expect((await attempt({ password: PASSWORD })).status).toBe(303);
});

test("an IPv6 address counts as its network, however it is written", () => {
  const of = (address: string) => attemptKeys("u", address)[0]?.key;
  expect(of("2001:db8:1:2::1")).toBe("address:2001:db8:1:2::/64");
  expect(of("2001:0DB8:0001:0002:ffff:1:2:3")).toBe(of("2001:db8:1:2::1"));
  expect(of("2001:db8::1")).toBe("address:2001:db8:0:0::/64");
  expect(of("203.0.113.7")).toBe("address:203.0.113.7");
});

test("both kinds of counts answer every course of attempts alike", async () => {
  const step = fc.record({
    user: fc.constantFrom("a", "b"),
    address: fc.constantFrom("1.1.1.1", undefined),
    later: fc.constantFrom(0, 1_000, WINDOW_MS),
    isRight: fc.boolean()
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const play = async (counts: AttemptCounts) => {
        let now = 0;
        const waits: number[] = [];
        for (const { user, address, later, isRight } of steps) {
          now += later;
          const keys = attemptKeys(user, address);
          const wait = await counts.take(keys, now);
          if (wait === 0 && isRight) await counts.giveBack(keys);
          waits.push(wait);
        }
        return waits;
      };
      expect(await play(new SharedAttempts(new Objects()))).toEqual(await play(new ProcessAttempts()));
    }),
    { numRuns: 30 }
  );
});

test("counts have an end in number: the one that ends first makes room", async () => {
  const counts = new ProcessAttempts();
  for (let index = 0; index < MAX_COUNTS + 5; index += 1)
    await counts.take([{ key: `user:${index}`, limit: 1 }], index);
  expect(counts.size).toBe(MAX_COUNTS);
  const waits = await Promise.all(
    [4, 5].map((index) => counts.take([{ key: `user:${index}`, limit: 1 }], MAX_COUNTS + 5))
  );
  expect(waits[0]).toBe(0);
  const rows = new DatabaseSync(":memory:");
  const sql = {
    exec: (query: string, ...values: (string | number)[]) => ({
      toArray: () => rows.prepare(query).all(...values) as Record<string, unknown>[]
    })
  };
  const object = new LoginAttempts({ storage: { sql } });
  rows.exec("BEGIN");
  const insert = rows.prepare("INSERT INTO attempts (key, used, ends_at) VALUES (?, 1, ?)");
  for (let index = 0; index < MAX_COUNTS + 5; index += 1) insert.run(`user:${index}`, WINDOW_MS + index);
  rows.exec("COMMIT");
  const order = { do: "take", key: "user:new", limit: 1, now: 10 };
  await object.fetch(new Request("https://attempts/", { method: "POST", body: JSON.stringify(order) }));
  expect(rows.prepare("SELECT COUNT(*) AS n FROM attempts").get()).toEqual({ n: MAX_COUNTS });
});
