// Approvals in the chats of four providers, in one real process that is killed again and again, with long inputs, slow hooks
// and every webhook sent twice. What the fake servers hold and the effects that are counted outside of the process decide.
// EVERTHINK_KILLS sets how often it is killed.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { FakeDiscord, FakeSlack, FakeTeams, FakeTelegram, type FakeProvider } from "../../../src/testing/index.ts";
import { countEffects, type EffectCounter } from "../effects.ts";
import { startWorker, type WorkerServer } from "../workerd-process.ts";
import { scriptOf, type ApprovalPlaces } from "./approval-plan.ts";

const KILLS = Number(process.env["EVERTHINK_KILLS"] ?? 3);

vi.setConfig({ testTimeout: 120_000 + KILLS * 20_000 });

const telegram = new FakeTelegram({ token: "1:test", secretToken: "secret" });
const slack = new FakeSlack({ token: "xoxb-test", signingSecret: "signing" });
const discord = new FakeDiscord({ token: "bot", applicationId: "1" });
const teams = new FakeTeams({ appId: "app", appPassword: "" });

interface Provider extends FakeProvider {
  says(text: string, options: { url: string }): Request;
  presses(label: string, options: { url: string }): Request;
}

const PROVIDERS: Record<keyof ApprovalPlaces["urls"], Provider> = { telegram, slack, discord, teams };

let server: WorkerServer;
let effects: EffectCounter;
let base: string;

beforeAll(async () => {
  effects = await countEffects();
  const urls = {
    telegram: await telegram.listen(),
    slack: await slack.listen(),
    discord: await discord.listen(),
    teams: await teams.listen()
  };
  teams.serviceUrl = `${urls.teams}/`;
  teams.keysUrl = `${urls.teams}/keys`;
  const places: ApprovalPlaces = { urls, discordKey: discord.publicKey, effectsPort: effects.port };
  base = `/agents/clerk/${encodeURIComponent(Buffer.from(JSON.stringify(places)).toString("base64"))}/messengers`;
  const entry = new URL("./approval-worker.ts", import.meta.url);
  server = await startWorker({ entry, objects: ["Clerk"], allowsPrivateNetwork: true });
});

afterAll(async () => {
  for (const fake of Object.values(PROVIDERS)) await fake.close();
});

/** As a provider does: again, until it has an answer; and then once more. */
async function deliverTwice(webhook: Request): Promise<void> {
  const { headers, url } = webhook;
  const body = await webhook.text();
  for (let accepted = 0; accepted < 2;) {
    const answer = await fetch(`${server.url}${new URL(url).pathname}`, { method: "POST", headers, body }).catch(
      () => undefined
    );
    if (answer?.ok) accepted += 1;
    else await delay(20);
  }
}

/** What the chat shows is part of the failure. */
const until = (fake: Provider, isSo: () => boolean) =>
  vi.waitFor(() => expect(isSo() ? "it is so" : fake.texts().map((one) => one.slice(0, 160))).toBe("it is so"), {
    timeout: 60_000,
    interval: 20
  });

/** A user who reads the whole script, presses, and waits for the end. */
async function approves(name: keyof ApprovalPlaces["urls"], job: string): Promise<void> {
  const fake = PROVIDERS[name];
  const url = `http://localhost${base}/${name}/webhook`;
  await deliverTwice(fake.says(`Please do ${job}`, { url }));
  await until(fake, () => fake.messages().some(({ buttons }) => buttons.includes("Approve")));
  const shown = fake.texts().join("\n").replaceAll("\\", "");
  for (const line of scriptOf(job).split("\n")) expect(shown).toContain(`│ ${line}`);
  await deliverTwice(fake.presses("Approve", { url }));
  await until(fake, () => fake.texts().some((one) => one.startsWith(`Finished ${job}:`)));
  await until(fake, () => fake.messages().every(({ buttons }) => buttons.length === 0));
}

test(`approvals in four chats through ${KILLS} SIGKILLs: none lost, none done twice`, async () => {
  const jobs: Record<string, string[]> = {};
  let isOver = false;
  const users = Object.keys(PROVIDERS).map(async (name) => {
    const done = (jobs[name] = [] as string[]);
    for (let number = 0; !isOver || number === 0; number += 1) {
      const job = `job-${name}${number}`;
      done.push(job);
      await approves(name as keyof ApprovalPlaces["urls"], job);
    }
  });
  for (let kill = 0; kill < KILLS; kill += 1) {
    await delay(250 + ((kill * 7919) % 11) * 90);
    await server.kill();
    await server.start();
  }
  isOver = true;
  await Promise.all(users);
  const counts = { approved: 0, done: 0, notKnown: 0 };
  for (const [name, all] of Object.entries(jobs)) {
    const texts = PROVIDERS[name as keyof ApprovalPlaces["urls"]].texts();
    expect(
      texts.filter((one) => /Approved by/.test(one)),
      name
    ).toHaveLength(all.length);
    for (const job of all) {
      const ends = texts.filter((one) => one.startsWith(`Finished ${job}:`));
      const times = effects.of(job, "effect").length;
      counts.approved += 1;
      counts[ends[0]?.endsWith("done.") ? "done" : "notKnown"] += 1;
      expect(ends, job).toHaveLength(1);
      expect(times, job).toBeLessThanOrEqual(1);
      if (ends[0]?.endsWith("done.")) expect(times, job).toBe(1);
    }
  }
  console.log(
    `${KILLS} kills: ${counts.approved} approvals, ${counts.done} done, ${counts.notKnown} said to be not known`
  );
  expect(counts.done).toBeGreaterThan(0);
});
