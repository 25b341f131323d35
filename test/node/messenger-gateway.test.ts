// Discord's Gateway: ordinary messages are answered like commands, and no end of the socket or of the process loses or
// doubles one.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { reply, text, type FakeDiscord, type Step } from "../../src/testing/index.ts";
import { discordDriver, type Driver } from "./messenger-drivers.ts";
import discordMessenger from "../../src/features/messengers/discord.ts";
import { answered, bot, openBot, Support, type Host } from "./messenger-providers-kit.ts";

const logged: unknown[][] = [];

beforeEach(() => {
  logged.length = 0;
  for (const level of ["error", "warn"] as const) {
    vi.spyOn(console, level).mockImplementation((...line: unknown[]) => void logged.push(line));
  }
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const discord = () => bot.driver.fake as FakeDiscord;
const shown = () => discord().texts();

/** Says what it was asked, by its last word. */
const echo: Step = (call) => {
  const [word = "nothing"] = /word-\w+/.exec(call.lastUserText ?? "") ?? [];
  return reply(text(`You said ${word}.`));
};

async function connected(options: { agent?: string; token?: string; start?: boolean } = {}): Promise<Host> {
  const { agent = "main", token = "bot-token", start = true } = options;
  const base = discordDriver();
  const fake = base.fake as FakeDiscord;
  const driver: Driver = {
    ...base,
    messenger: (definition) =>
      discordMessenger({
        token,
        applicationId: "1",
        publicKey: fake.publicKey,
        userName: "support_bot",
        gateway: { agent },
        ...definition
      })
  };
  vi.stubGlobal("WebSocket", fake.gateway.WebSocket);
  const host = await openBot(
    "discord",
    Array.from({ length: 30 }, () => echo),
    { driver }
  );
  if (start) {
    await (await host.get(Support, "main")).pendingApprovals();
    await answered(host, 1_000);
  }
  return host;
}

test("a direct message and a mention are answered; other messages are not", async () => {
  const host = await connected();
  expect([discord().gateway.sessions, discord().gateway.connected]).toEqual([["identify"], 1]);
  discord().writes("word-one");
  await answered(host);
  discord().writes("word-two", { guild: "50", channel: "500" });
  discord().writes("word-three", { guild: "50", channel: "500", mention: true });
  await answered(host);
  expect(shown()).toEqual(["You said word-one.", "You said word-three."]);
  expect(JSON.stringify(bot.script.calls[1]?.prompt)).toContain("Ada Lovelace: @support_bot word-three");
});

test("the bot's own direct messages are not answered, also if its id is not that of its application", async () => {
  const host = await connected();
  for (const id of ["1", "999"]) {
    const author = { id, username: "support", bot: true };
    const message = { id: `9${id}`, type: 0, channel_id: "700", content: "word-own", mentions: [], author };
    discord().gateway.dispatch("MESSAGE_CREATE", message);
    await answered(host);
  }
  expect(bot.script.calls).toEqual([]);
});

test.each([
  ["breaks", (fake: FakeDiscord) => fake.gateway.disconnect()],
  ["is asked to reconnect", (fake: FakeDiscord) => fake.gateway.sends({ op: 7 })],
  ["does not answer heartbeats", (fake: FakeDiscord) => void (fake.gateway.answersHeartbeats = false)]
])("a socket that %s is resumed, and what was written meanwhile is answered once", async (_how, end) => {
  const host = await connected();
  discord().writes("word-before");
  await answered(host);
  end(discord());
  await host.advance(100_000);
  discord().gateway.answersHeartbeats = true;
  discord().writes("word-meanwhile");
  await answered(host, 200_000);
  discord().writes("word-after");
  await answered(host);
  expect(shown()).toEqual(["You said word-before.", "You said word-meanwhile.", "You said word-after."]);
  expect(discord().gateway.sessions.slice(0, 2)).toEqual(["identify", "resume"]);
  expect(discord().gateway.connected).toBe(1);
});

test("a message written while no process runs is answered once after the restart", async () => {
  const host = await connected();
  discord().writes("word-one");
  await answered(host);
  await host.restart();
  discord().gateway.disconnect();
  discord().writes("word-two");
  await answered(host, 130_000);
  expect(shown()).toEqual(["You said word-one.", "You said word-two."]);
  expect(discord().gateway.sessions).toEqual(["identify", "resume"]);
});

test("a session that Discord has forgotten is begun anew", async () => {
  const host = await connected();
  discord().gateway.forgetSessions();
  discord().gateway.disconnect();
  await answered(host, 60_000);
  expect(discord().gateway.sessions).toEqual(["identify", "identify"]);
  discord().writes("word-again");
  await answered(host);
  expect(shown()).toEqual(["You said word-again."]);
});

test("a token that Discord refuses is not tried again and again, and the log says what to check", async () => {
  const host = await connected({ token: "wrong" });
  await host.advance(600_000);
  expect(discord().gateway.sessions).toEqual([]);
  expect(JSON.stringify(logged)).toContain("refused the bot (code 4004)");
  expect(logged).toHaveLength(1);
});

test("an agent of another name opens none, and the log says so once", async () => {
  const host = await connected({ agent: "other" });
  await host.advance(120_000);
  await (await host.get(Support, "third")).pendingApprovals();
  expect(discord().gateway.sessions).toEqual([]);
  expect(logged.map(String)).toEqual([expect.stringContaining('ordinary messages come to "other" only')]);
});

test.each(["wss://gateway.discord.gg.example.com", "ws://gateway.discord.gg", "https://discord.gg", "nowhere"])(
  "the token is not sent to %s, though the Gateway names it; the session goes on at the known address",
  async (address) => {
    const host = await connected({ start: false });
    discord().gateway.resumeUrl = address;
    await (await host.get(Support, "main")).pendingApprovals();
    await answered(host, 1_000);
    discord().gateway.disconnect();
    discord().writes("word-one");
    await answered(host, 60_000);
    expect(discord().gateway.sessions).toEqual(["identify", "resume"]);
    const known = "wss://gateway.discord.gg/?v=10&encoding=json";
    expect(discord().gateway.addresses).toEqual([known, known]);
    expect(shown()).toEqual(["You said word-one."]);
    expect(JSON.stringify(logged)).toContain("an address that is not its own");
  }
);

test("a session is resumed where Discord says", async () => {
  const host = await connected();
  discord().gateway.disconnect();
  await answered(host, 60_000);
  expect(discord().gateway.addresses[1]).toBe("wss://gateway-us-east1-b.discord.gg/?v=10&encoding=json");
});

test("a socket that is resumed goes on after the last message that was stored, also in another process", async () => {
  const host = await connected();
  for (const word of ["word-one", "word-two", "word-three"]) {
    discord().writes(word);
    await answered(host);
  }
  discord().gateway.disconnect();
  await answered(host, 60_000);
  await host.restart();
  discord().gateway.disconnect();
  await (await host.get(Support, "main")).pendingApprovals();
  await answered(host, 60_000);
  // The first of the session is READY.
  expect(discord().gateway.resumedAfter).toEqual([4, 4]);
});
