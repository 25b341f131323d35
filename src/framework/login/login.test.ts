// The login as clients meet it: forms, cookies, forged values, other sites, and what an agent learns.
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { ThinkAgentRoute } from "../server-entry/agent-path.ts";
import { createLogin, userOf } from "./login.ts";
import { makeSession, readSession } from "./session.ts";
import { isPassword, readUsers, userLine } from "./users.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const ADA = "ada.o'neil+x@example.com";
const login = createLogin<object>({ about: () => ({ model: "m" }) });

let env: { SESSION_SECRET: string; LOGIN_USERS: string };
beforeAll(async () => {
  const lines = [await userLine(ADA, "correct horse"), await userLine("bob@example.com", "battery staple")];
  env = { SESSION_SECRET: SECRET, LOGIN_USERS: lines.join("\n") };
});

const routed: Request[] = [];
const router = {
  route: async (request: Request) => {
    routed.push(request);
    return new Response("agent");
  }
};

const url = (path: string, host = "app.example.com") => `https://${host}${path}`;

async function send(request: Request, given: object = env): Promise<Response> {
  return (await login.fetch(request, given, undefined, { router })) ?? new Response("none", { status: 404 });
}

function form(user: string, password: string, headers: Record<string, string> = {}, host?: string): Request {
  const body = new URLSearchParams({ user, password }).toString();
  const own = { "content-type": "application/x-www-form-urlencoded", "content-length": String(body.length) };
  return new Request(url("/login", host), { method: "POST", body, headers: { ...own, ...headers } });
}

const cookieOf = (response: Response) => response.headers.get("set-cookie")?.split(";")[0] ?? "";

async function sessionOf(user: string, password: string): Promise<string> {
  return cookieOf(await send(form(user, password)));
}

const to = (name: string): ThinkAgentRoute => ({ agent: "assistant", name });

async function enters(name: string, headers: Record<string, string>, given: object = env): Promise<number> {
  const response = await login.authorize(new Request(url("/agents/assistant/x"), { headers }), to(name), given);
  return response?.status ?? 200;
}

describe("logging in", () => {
  test("an address with dots, quotes and a plus gets a session, and the agent of its own name only", async () => {
    const response = await send(form(` ${ADA.toUpperCase()} `, "correct horse"));
    expect([response.status, response.headers.get("location")]).toEqual([303, "/"]);
    expect(response.headers.get("set-cookie")).toMatch(/; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=604800$/);
    const cookie = cookieOf(response);
    expect(await (await send(new Request(url("/me"), { headers: { cookie } }))).json()).toEqual({
      user: ADA,
      agent: ADA,
      isDevelopment: false,
      model: "m"
    });
    expect([await enters(ADA, { cookie }), await enters("bob@example.com", { cookie })]).toEqual([200, 403]);
  });

  test("a person's conversations are agents below the own name, and nobody else's", async () => {
    const cookie = await sessionOf("bob@example.com", "battery staple");
    const names = [
      "bob@example.com",
      "bob@example.com:7",
      "bob@example.com.evil:7",
      "bob@example.co",
      `${ADA}:7`,
      ":7"
    ];
    const entered = await Promise.all(names.map((name) => enters(name, { cookie })));
    expect(entered).toEqual([200, 200, 403, 403, 403, 403]);
  });

  test.each([
    ["bob@example.com:7", "battery staple"],
    ["bob@example.com", "wrong"],
    ["eve@example.com", "battery staple"],
    ["", "battery staple"],
    ["bob@example.com", ""],
    ["__proto__", "x"],
    ["bob@example.com", "x".repeat(300)]
  ])("%j with %j is refused, and told nothing about which of the two is wrong", async (user, password) => {
    const response = await send(form(user, password));
    expect([response.status, response.headers.get("set-cookie")]).toEqual([401, null]);
    expect(await response.text()).toContain("Name or password is wrong.");
  });

  test("a page of another site logs no one in or out", async () => {
    const origin = { origin: "https://evil.example" };
    expect((await send(form("bob@example.com", "battery staple", origin))).status).toBe(403);
    expect((await send(new Request(url("/logout"), { method: "POST", headers: origin }))).status).toBe(403);
    expect((await send(new Request(url("/logout")))).status).toBe(405);
  });

  test("a form that is large, or does not say how large, is not read", async () => {
    expect((await send(form("bob@example.com", "x".repeat(5_000)))).status).toBe(413);
    const unsaid = new Request(url("/login"), { method: "POST", body: "user=bob" });
    expect((await send(unsaid)).status).toBe(413);
  });

  test("logging out takes the cookie away", async () => {
    const response = await send(new Request(url("/logout"), { method: "POST" }));
    expect(response.headers.get("set-cookie")).toMatch(/^everthink_session=;.*Max-Age=0$/);
  });

  test("the page runs no script and is in no frame", async () => {
    const response = await send(new Request(url("/login")));
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(response.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    // With "no-referrer" a browser sends the form with the origin "null", which is another site's.
    expect(response.headers.get("referrer-policy")).toBe("same-origin");
    expect(await response.text()).not.toContain("<script");
  });
});

describe("sessions", () => {
  const hashes = new Map([["ada", "h1"]]);
  const signer = (user: string) => {
    const hash = hashes.get(user);
    return hash === undefined ? undefined : { secret: SECRET, hash };
  };

  test("any name comes back as it was, and no other value is a session", async () => {
    const any = (user: string) => ({ secret: SECRET, hash: user });
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1, unit: "grapheme" }), fc.nat(), async (user, at) => {
        const value = await makeSession(user, any, 2_000);
        expect(await readSession(value, any, 1_000)).toBe(user);
        expect(await readSession(value, any, 2_000)).toBeUndefined();
        const place = at % value.length;
        const other = value[place] === "0" ? "1" : "0";
        const forged = value.slice(0, place) + other + value.slice(place + 1);
        expect(await readSession(forged, any, 1_000)).toBeUndefined();
      }),
      { numRuns: 50 }
    );
  });

  test("a new password, a removed name and another secret end them", async () => {
    const value = await makeSession("ada", signer, 2_000);
    expect(await readSession(value, signer, 1)).toBe("ada");
    hashes.set("ada", "h2");
    expect(await readSession(value, signer, 1)).toBeUndefined();
    hashes.delete("ada");
    expect(await readSession(value, signer, 1)).toBeUndefined();
    const elsewhere = () => ({ secret: SECRET.toUpperCase(), hash: "h1" });
    expect(await readSession(value, elsewhere, 1)).toBeUndefined();
  });

  test("a program gives one in the address", async () => {
    const token = (await sessionOf("bob@example.com", "battery staple")).replace(/^[^=]+=/, "");
    const request = new Request(url(`/agents/assistant/x?token=${encodeURIComponent(token)}`));
    expect(await login.authorize(request, to("bob@example.com"), env)).toBeUndefined();
    expect((await login.authorize(request, to(ADA), env))?.status).toBe(403);
  });
});

describe("what agents learn", () => {
  test("the verified name, and never the one that a client sends", async () => {
    const cookie = await sessionOf("bob@example.com", "battery staple");
    const claim = { "x-everthink-user": "ada" };
    for (const [headers, expected] of [
      [{ cookie }, "bob@example.com"],
      [{ cookie, ...claim }, "bob@example.com"],
      [claim, undefined]
    ] as const) {
      await send(new Request(url("/agents/assistant/x"), { headers }));
      expect(userOf(routed.at(-1) ?? new Request(url("/")))).toBe(expected);
    }
    // Where src/server.ts does not pass requests on itself, a claim is refused at the door.
    expect(await enters("bob@example.com", { cookie, ...claim })).toBe(400);
  });
});

describe("without its variables", () => {
  test.each([{}, { SESSION_SECRET: SECRET }, { LOGIN_USERS: "x" }, { SESSION_SECRET: "short" }])(
    "%j: no one gets in, and the page says what the operator sets",
    async (given) => {
      const env = { ...given };
      const page = await send(new Request(url("/login")), env);
      expect([page.status, await page.text()]).toEqual([503, expect.stringContaining("The operator sets")]);
      expect((await send(form("bob@example.com", ""), env)).status).toBe(503);
      expect(await enters("anyone", {}, env)).toBe(401);
      expect((await send(new Request(url("/me")), env)).status).toBe(401);
    }
  );

  test("a secret that is too short signs nothing, also when a client signs with it", async () => {
    const short = { ...env, SESSION_SECRET: "" };
    const hash = readUsers(env.LOGIN_USERS).get("bob@example.com") ?? "";
    const forged = await makeSession("bob@example.com", () => ({ secret: "0", hash }), Date.now() + 9_999);
    expect(await enters("bob@example.com", { cookie: `everthink_session=${forged}` }, short)).toBe(401);
  });
});

describe("in development", () => {
  const developed = () => ({ EVERTHINK_DEVELOPMENT: "1" });
  const local = (path: string, headers: Record<string, string> = {}) =>
    new Request(url(path, "localhost:5173"), { headers });

  test("a request without a session is the developer's, who reaches every agent", async () => {
    const me = await send(local("/me"), developed());
    expect(await me.json()).toMatchObject({ user: "you@localhost", agent: "you@localhost", isDevelopment: true });
    expect(await login.authorize(local("/agents/assistant/ada"), to("ada"), developed())).toBeUndefined();
    // A session of another project on this machine.
    const stale = local("/agents/assistant/ada", { cookie: "everthink_session=a.1.b" });
    expect(await login.authorize(stale, to("ada"), developed())).toBeUndefined();
  });

  test("every name may enter without a password, and has the agent of its own then", async () => {
    expect((await send(form("eve@example.com:7", "", {}, "localhost:5173"), developed())).status).toBe(401);
    const response = await send(form("eve@example.com", "", {}, "localhost:5173"), developed());
    expect(response.headers.get("set-cookie")).not.toContain("Secure");
    const cookie = cookieOf(response);
    const enter = (name: string) => login.authorize(local("/agents/assistant/x", { cookie }), to(name), developed());
    expect([await enter("eve@example.com"), (await enter("ada"))?.status]).toEqual([undefined, 403]);
  });

  test("another machine's request is none: it logs in as in production", async () => {
    for (const host of ["192.168.1.5:5173", "app.example.com"]) {
      expect((await send(new Request(url("/me", host)), developed())).status).toBe(401);
      expect((await send(form("eve@example.com", "", {}, host), developed())).status).toBe(503);
    }
  });
});

test("a password is checked against its own hash, and a line that cannot be read lets no one in", async () => {
  const hash = readUsers(env.LOGIN_USERS).get("bob@example.com");
  expect([await isPassword("battery staple", hash), await isPassword("battery", hash)]).toEqual([true, false]);
  expect(await isPassword("-", undefined)).toBe(false);
  expect([...readUsers("ada eve:plain bob:pbkdf2:1:a: :pbkdf2:1:a:b").keys()]).toEqual([]);
});
