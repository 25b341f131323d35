// What is the Teams messenger's own.
import { afterEach, expect, test, vi } from "vitest";
import teamsMessenger from "../../src/features/messengers/teams.ts";
import { createGate, reply, text, type FakeTeams } from "../../src/testing/index.ts";
import { webhookUrl } from "./messenger-drivers.ts";
import { answered, asks, bot, openBot } from "./messenger-providers-kit.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const url = webhookUrl("teams");
const teams = () => bot.driver.fake as FakeTeams;

test("an answer is shown when it is complete; until then the bot types", async () => {
  const slow = createGate();
  const host = await openBot("teams", [
    reply(text("A long beginning of an answer that goes on"), slow.wait(), text("."))
  ]);
  await asks(host, "Hello");
  await answered(host, 0);
  await host.advance(10_000);
  expect(teams().texts()).toEqual([]);
  // After 0.6 s, and every three seconds from then on.
  expect(teams().calls.filter(({ name }) => name === "typing")).toHaveLength(4);
  slow.open();
  await answered(host);
  expect(teams().texts()).toEqual(["A long beginning of an answer that goes on."]);
});

test("the keys are read once for many webhooks, and an unknown key does not read them again at once", async () => {
  const host = await openBot("teams", [reply(text("one")), reply(text("two"))]);
  for (const said of ["Hello", "Again"]) {
    await asks(host, said);
    await answered(host);
  }
  const forged = bot.driver.says("Hello");
  const [, payload, signature] = (forged.headers.get("Authorization") ?? "").split(".");
  const header = Buffer.from(JSON.stringify({ alg: "RS256", kid: "k2" })).toString("base64url");
  forged.headers.set("Authorization", `Bearer ${header}.${payload}.${signature}`);
  expect((await host.fetch(forged)).status).toBe(401);
  expect(teams().calls.filter(({ name }) => name === "keys")).toHaveLength(1);
});

test("a key that the Bot Framework has changed is read a minute later, and the old one is not believed any more", async () => {
  const host = await openBot("teams", [reply(text("one")), reply(text("two"))]);
  const now = Date.now();
  await asks(host, "Hello");
  await answered(host);
  const old = bot.driver.says("Late");
  teams().rotateKey();
  const status = async (request: Request) => (await host.fetch(request)).status;
  expect(await status(bot.driver.says("Too early"))).toBe(401);
  vi.spyOn(Date, "now").mockReturnValue(now + 61_000);
  expect(await status(bot.driver.says("Again"))).toBe(200);
  expect(await status(old)).toBe(401);
  await answered(host);
  expect(teams().texts()).toEqual(["one", "two"]);
});

test.each([{ status: 500 }, "lost"] as const)(
  "while the keys cannot be read (%o) no webhook is believed, and the next one asks for them again",
  async (fault) => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const host = await openBot("teams", [reply(text("Hello."))]);
    teams().failNext("keys", fault);
    const request = bot.driver.says("Hello");
    expect((await host.fetch(request.clone() as Request)).status).toBe(500);
    expect(logged).toHaveBeenCalled();
    expect((await host.fetch(request)).status).toBe(200);
    await answered(host);
    expect(teams().texts()).toEqual(["Hello."]);
  }
);

test("known keys are used on while they cannot be read again", async () => {
  const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const host = await openBot("teams", [reply(text("one")), reply(text("two"))]);
  await asks(host, "Hello");
  await answered(host);
  vi.spyOn(Date, "now").mockReturnValue(Date.now() + 25 * 3_600_000);
  teams().failNext("keys", { status: 500 });
  expect((await asks(host, "Again")).status).toBe(200);
  expect(warned).toHaveBeenCalledOnce();
});

test("keys that never arrive are not waited for without an end", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const host = await openBot("teams", []);
  const { fetch } = bot.driver.fake;
  const limit = new AbortController();
  vi.spyOn(AbortSignal, "timeout").mockReturnValue(limit.signal);
  vi.stubGlobal("fetch", (url: string, init: RequestInit) =>
    url.includes("openid")
      ? new Promise((_, reject) => init.signal?.addEventListener("abort", () => reject(new Error("aborted"))))
      : fetch(url, init)
  );
  const response = asks(host, "Hello");
  await host.idle();
  limit.abort();
  expect((await response).status).toBe(500);
});

test("the app's token is never sent to a service that is not Microsoft's", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const host = await openBot("teams", [reply(text("never"))], { definition: { verifyWebhook: false } });
  const activity = {
    type: "message",
    id: "1",
    text: "Hello",
    serviceUrl: "https://smba.trafficmanager.net.example.com/",
    from: { id: "29:7" },
    recipient: { id: "28:bot" },
    conversation: { id: "a:personal", conversationType: "personal" }
  };
  await host.fetch(new Request(url, { method: "POST", body: JSON.stringify(activity) }));
  await answered(host, 60_000);
  expect(teams().calls.filter(({ name }) => name.includes("activities") || name === "typing")).toEqual([]);
});

test("without credentials it cannot be declared", () => {
  expect(() => teamsMessenger({ appId: "a", userName: "b" })).toThrow(/requires appPassword or token/);
});

test.each([
  ["has expired", { exp: Date.now() / 1_000 - 301 }],
  ["is another app's", { aud: "app-2" }],
  ["is another issuer's", { iss: "https://example.com" }]
])("a token that %s is refused before the body is parsed", async (_how, claims) => {
  const host = await openBot("teams", []);
  const read: string[] = [];
  const { parse } = JSON;
  vi.spyOn(JSON, "parse").mockImplementation((source: string, reviver) => {
    read.push(source);
    return parse(source, reviver) as unknown;
  });
  const body = { type: "message", text: "the body of a hostile sender", serviceUrl: teams().serviceUrl };
  const refused = await host.fetch(teams().activityRequest(url, body, claims));
  expect(refused.status).toBe(401);
  expect(read.filter((source) => source.includes("hostile sender"))).toEqual([]);
  await host.fetch(teams().activityRequest(url, body));
  expect(read.filter((source) => source.includes("hostile sender")).length).toBeGreaterThan(0);
});

test.each([
  ["of a web chat, whose senders say themselves who they are", { channelId: "webchat" }],
  ["of Direct Line", { channelId: "directline" }],
  ["of no channel", { channelId: undefined }],
  ["of another tenant", { conversation: { tenantId: "tenant-2" }, channelData: { tenant: { id: "tenant-2" } } }],
  ["of two tenants", { conversation: { tenantId: "tenant-2" } }],
  ["of two tenants, the other way", { channelData: { tenant: { id: "tenant-2" } } }],
  ["of no tenant", { conversation: { tenantId: undefined }, channelData: undefined }]
])("an activity %s is refused, though the Bot Framework signed it", async (_which, change: Record<string, unknown>) => {
  const host = await openBot("teams", [reply(text("Hello."))], tenant("tenant-1"));
  const activity = (await bot.driver.says("Hello").json()) as Record<string, object>;
  const conversation = { ...activity["conversation"], ...(change["conversation"] as object) };
  const refused = await host.fetch(teams().activityRequest(url, { ...activity, ...change, conversation }));
  await answered(host);
  expect([refused.status, teams().texts(), bot.script.calls]).toEqual([401, [], []]);
  await asks(host, "Hello");
  await answered(host);
  expect(teams().texts()).toEqual(["Hello."]);
});

/** A bot for users of these tenants. */
function tenant(...tenants: string[]): { definition: object } {
  return { definition: tenants.length === 1 ? { tenantId: tenants[0] } : { tenants } };
}

test("a bot of several tenants answers theirs; one without tenants answers every tenant's", async () => {
  for (const [changes, expected] of [
    [tenant("tenant-2", "tenant-1"), ["Hello."]],
    [tenant("tenant-2", "tenant-3"), []],
    [{}, ["Hello."]]
  ] as const) {
    const host = await openBot("teams", [reply(text("Hello."))], changes);
    await asks(host, "Hello");
    await answered(host);
    expect(teams().texts()).toEqual(expected);
  }
});

test("a key that signs for other channels is not believed", async () => {
  for (const [endorsements, status] of [
    [["directline"], 401],
    [["directline", "msteams"], 200],
    [undefined, 200]
  ] as const) {
    const host = await openBot("teams", [reply(text("Hello."))]);
    teams().endorsements = endorsements;
    expect((await asks(host, "Hello")).status).toBe(status);
  }
});
