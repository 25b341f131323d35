// A conversation in each of the four providers, in one real process that is killed in the middle. What the fake servers hold
// decides: every question has its complete answer exactly once, and what else is there is a beginning that is marked as one.
// 2 SIGKILLs; with EVERTHINK_LONG_TESTS 20.
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { FakeDiscord, FakeSlack, FakeTeams, FakeTelegram, type FakeProvider } from "../../../src/testing/index.ts";
import { startWorker, type WorkerServer } from "../workerd-process.ts";

// Starts of workerd, and the pauses of real retries between them.
vi.setConfig({ testTimeout: 300_000 });

const KILLS = process.env["EVERTHINK_LONG_TESTS"] ? 20 : 2;
const QUESTIONS = KILLS * 2;
const telegram = new FakeTelegram({ token: "1:test", secretToken: "secret" });
const slack = new FakeSlack({ token: "xoxb-test", signingSecret: "signing" });
const discord = new FakeDiscord({ token: "bot", applicationId: "1" });
const teams = new FakeTeams({ appId: "app", appPassword: "" });
const PROVIDERS: Record<string, FakeProvider & { says(text: string, options: { url: string }): Request }> = {
  telegram,
  slack,
  discord,
  teams
};

const urls: Record<string, string> = {};
let server: WorkerServer;

beforeAll(async () => {
  for (const [name, fake] of Object.entries(PROVIDERS)) urls[name] = await fake.listen();
  teams.serviceUrl = `${urls["teams"]}/`;
  teams.keysUrl = `${urls["teams"]}/keys`;
  const entry = new URL("./messenger-worker.ts", import.meta.url);
  server = await startWorker({ entry, objects: ["Bot"], allowsPrivateNetwork: true });
});

afterAll(async () => {
  for (const fake of Object.values(PROVIDERS)) await fake.close();
});

/** As a provider does: again, until it has an answer. */
async function deliver(server: WorkerServer, path: string, webhook: Request): Promise<void> {
  const { headers } = webhook;
  const body = await webhook.text();
  for (;;) {
    const answer = await fetch(`${server.url}${path}`, { method: "POST", headers, body }).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function converse(server: WorkerServer, base: string, name: string): Promise<void> {
  const fake = PROVIDERS[name];
  if (!fake) throw new Error(`No provider ${name}.`);
  const path = `${base}/messengers/${name}/webhook`;
  for (let number = 0; number < QUESTIONS; number += 1) {
    const word = `word-${name}${number}`;
    await deliver(server, path, fake.says(`Question: ${word}`, { url: `${server.url}${path}` }));
    await vi.waitFor(() => expect(fake.texts().some((shown) => isAnswer(shown, word))).toBe(true), {
      timeout: 120_000,
      interval: 20
    });
  }
}

function isAnswer(shown: string, word: string): boolean {
  return shown === `This is the long beginning of the whole answer to ${word}, and this is its end.`;
}

test(`four conversations through ${KILLS} SIGKILLs: every answer once, complete`, async () => {
  const base = addressOf({});
  const conversations = Promise.all(Object.keys(PROVIDERS).map((name) => converse(server, base, name)));
  for (let kill = 0; kill < KILLS; kill += 1) {
    await new Promise((resolve) => setTimeout(resolve, 300 + 37 * kill));
    await server.kill();
    await server.start();
  }
  await conversations;
  for (const [name, fake] of Object.entries(PROVIDERS)) {
    const words = Array.from({ length: QUESTIONS }, (_, number) => `word-${name}${number}`);
    const shown = fake.texts();
    expect(words.map((word) => shown.filter((one) => isAnswer(one, word)).length)).toEqual(words.map(() => 1));
    const others = shown.filter((one) => !words.some((word) => isAnswer(one, word)));
    expect(others.filter((one) => !one.endsWith("…"))).toEqual([]);
  }
});

/** Of the agent whose name says where its providers are. */
function addressOf(places: object): string {
  const name = Buffer.from(JSON.stringify({ urls, discordKey: discord.publicKey, ...places })).toString("base64");
  return `/agents/bot/${encodeURIComponent(name)}`;
}

const until = (isSo: () => boolean) => vi.waitFor(() => expect(isSo()).toBe(true), { timeout: 60_000, interval: 20 });

test("a socket to Discord's Gateway is resumed after it breaks and after a SIGKILL, without a request, and none is lost", async () => {
  const { gateway } = discord;
  gateway.heartbeatMs = 1_000;
  // On a slow machine a heartbeat may come too late, and the socket be resumed once more.
  const begun = (how: "identify" | "resume") => gateway.sessions.filter((one) => one === how).length;
  const answers = (word: string) => discord.texts().filter((shown) => isAnswer(shown, word)).length;
  // Each in a chat of its own: messages of one chat may become one question.
  let chat = 800;
  const writes = (word: string) => discord.writes(`Question: ${word}`, { channel: String(chat++) });
  // Any request starts the agent; from then on it is sent none.
  await fetch(`${server.url}${addressOf({ gatewayUrl: gateway.url })}/get-messages`);
  await until(() => gateway.connected === 1 && gateway.heartbeats > 0);
  writes("word-first");
  await until(() => answers("word-first") === 1);

  gateway.disconnect();
  writes("word-broken");
  await until(() => answers("word-broken") === 1);
  expect([begun("identify"), begun("resume") > 0]).toEqual([1, true]);

  writes("word-cut");
  await server.kill();
  await until(() => gateway.connected === 0);
  const resumed = begun("resume");
  writes("word-dead");
  await server.start();
  await until(() => answers("word-cut") === 1 && answers("word-dead") === 1);

  expect([begun("identify"), begun("resume") > resumed]).toEqual([1, true]);

  gateway.sends({ op: 9, d: false });
  await until(() => begun("identify") === 2 && gateway.connected === 1);
  writes("word-anew");
  await until(() => answers("word-anew") === 1);
  expect(begun("identify")).toBe(2);
  expect(["word-first", "word-broken", "word-cut", "word-dead", "word-anew"].map(answers)).toEqual([1, 1, 1, 1, 1]);
  expect(new Set(gateway.addresses)).toEqual(new Set([`${gateway.url}/?v=10&encoding=json`]));
});
