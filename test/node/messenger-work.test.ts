// Messages and replies as durable work: what is repeated, what takes long, throws or hangs, and what comes meanwhile.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createGate, everyCrash, reply, text } from "../../src/testing/index.ts";
import { answered, asks, bot, openBot, Support, type Host } from "./messenger-providers-kit.ts";

beforeEach(() => {
  for (const level of ["error", "warn"] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

vi.setConfig({ testTimeout: 120_000 });

const LATER_MS = 400_000;
const prompts = () => bot.script.calls.map(({ prompt }) => JSON.stringify(prompt));
const texts = () => bot.driver.fake.texts();

// ── Repeated webhooks ──

test("a webhook that is repeated while its question waits, is answered and is over is nothing", async () => {
  const gate = createGate();
  const host = await openBot("slack", [reply(gate.wait(), text("Well."))]);
  const [first, second] = ["one", "two"].map((said) => bot.driver.says(said));
  const deliver = async () => {
    for (const request of [first, second]) expect((await host.fetch(request?.clone() as Request)).status).toBe(200);
  };
  await deliver();
  await deliver();
  await answered(host, 1_000);
  await deliver();
  gate.open();
  await answered(host);
  await deliver();
  await answered(host, LATER_MS);
  expect([prompts().length, texts()]).toEqual([1, ["Well."]]);
  expect(prompts()[0]?.match(/"text":"(one|two)"/g)).toEqual(['"text":"one"', '"text":"two"']);
});

test("each message of a burst is asked about once, wherever the process dies and whatever webhooks are repeated", async () => {
  const said = ["first", "second", "third", "fourth"];
  let requests: Request[] = [];
  const deliver = async (host: Host, which: readonly Request[]) => {
    for (const request of which) await host.fetch(request.clone() as Request).catch(() => undefined);
  };
  const outcomes: (string | undefined)[][] = [];
  await everyCrash<Host>({
    create: async () => {
      const host = await openBot(
        "slack",
        Array.from({ length: 40 }, () => () => reply(text("Well."))),
        {
          definition: { conversation: "self" }
        }
      );
      requests = said.map((one) => bot.driver.says(one));
      return host;
    },
    script: async (host) => {
      await deliver(host, requests.slice(0, 2));
      await deliver(host, requests.slice(0, 1));
      await answered(host, 601);
      await deliver(host, requests.slice(2));
      await answered(host, 10_000);
    },
    finish: async (host) => {
      // The provider repeats what was not answered, and more.
      await deliver(host, requests);
      await answered(host, LATER_MS);
    },
    inspect: async (host) => {
      const [row] = host.sql<{ messages: string }>(
        Support,
        "main",
        "SELECT group_concat(content, '') AS messages FROM (SELECT content FROM assistant_messages WHERE role = 'user' ORDER BY sequence)"
      );
      outcomes.push([...(row?.messages ?? "").matchAll(/"type":"text","text":"(\w+)"/g)].map(([, one]) => one));
      expect(new Set(texts().filter((one) => !one.endsWith("…")))).toEqual(new Set(["Well."]));
    },
    points: "both",
    ...(process.env["EVERTHINK_ALL_CRASHES"] ? {} : { limit: 20 })
  });
  expect(outcomes.length).toBeGreaterThan(20);
  for (const outcome of outcomes) expect(outcome.toSorted()).toEqual(said.toSorted());
});

test("messages that would make a question too large for a row are further questions", async () => {
  const gate = createGate();
  const host = await openBot("slack", [reply(gate.wait(), text("Well.")), ...Array(4).fill(reply(text("Well.")))]);
  await asks(host, "first");
  await answered(host, 1_000);
  const long = "word ".repeat(60_000);
  for (const mark of ["a", "b", "c", "d"]) expect((await asks(host, `${mark} ${long}`)).status).toBe(200);
  gate.open();
  await answered(host, 60_000);
  const marks = prompts().map((prompt) =>
    [...prompt.matchAll(/"text":"([a-d]) word/g)].map(([, mark]) => mark).join("")
  );
  expect(marks.at(-1)).toBe("abcd");
  expect(texts()).toEqual(["Well.", "Well.", "Well."]);
});

// ── Work that takes long, throws, hangs ──

test("wakes that come while an answer takes long do not run it again, and what comes meanwhile is the next question", async () => {
  const gate = createGate();
  const host = await openBot("slack", [reply(gate.wait(), text("At last.")), reply(text("Next."))]);
  await asks(host, "slow");
  for (let minute = 0; minute < 10; minute += 1) {
    await host.advance(60_000);
    if (minute === 4) await asks(host, "meanwhile");
  }
  expect([prompts().length, texts()]).toEqual([1, []]);
  gate.open();
  await answered(host);
  expect(texts()).toEqual(["At last.", "Next."]);
  expect(prompts()[1]).toContain("meanwhile");
});

test("a callback of the class that throws is asked again in longer pauses, and the message is answered once", async () => {
  const times: number[] = [];
  const host = await openBot("slack", [reply(text("Well."))], {
    definition: {
      conversation: () => {
        times.push(host.now);
        if (times.length < 4) throw new Error("The directory is down.");
        return { target: "self" };
      }
    }
  });
  await asks(host, "Hello");
  await answered(host, 60_000);
  expect(times.map((time, index) => time - (times[index - 1] ?? time))).toEqual([0, 1_000, 2_000, 4_000]);
  expect([prompts().length, texts()]).toEqual([1, ["Well."]]);
});

test("a message that comes while a question waits to be tried again is the next one: its turn may have begun", async () => {
  let isDown = true;
  const host = await openBot("slack", Array(2).fill(reply(text("Well."))), {
    definition: {
      conversation: () => {
        if (isDown) throw new Error("The directory is down.");
        return { target: "self" };
      }
    }
  });
  await asks(host, "first");
  await answered(host, 700);
  await asks(host, "second");
  isDown = false;
  await answered(host, 60_000);
  expect(prompts().map((prompt) => [prompt.includes("first"), prompt.includes("second")])).toEqual([
    [true, false],
    [true, true]
  ]);
});

test("a callback that hangs holds up its own chat only, and a restart takes it up", async () => {
  let isHanging = true;
  const host = await openBot("slack", Array(2).fill(reply(text("Well."))), {
    definition: {
      conversation: ({ thread }) =>
        isHanging && thread.isDirectMessage ? new Promise(() => undefined) : { target: "subagent", name: "any" }
    }
  });
  await asks(host, "Hello");
  await asks(host, "<@UBOT> Hello", { by: "grace", in: "group" });
  await answered(host, LATER_MS);
  expect(texts()).toEqual(["Well."]);
  expect(prompts()[0]).toContain("@support_bot Hello");
  isHanging = false;
  await host.restart();
  await answered(host, LATER_MS);
  expect(texts()).toEqual(["Well.", "Well."]);
});

test("a reply whose process dies again and again waits a little, half a minute at most, and is delivered", async () => {
  let isHanging = true;
  let runs = 0;
  const host = await openBot("slack", [reply(text("Well."))], {
    definition: {
      conversation: () => {
        runs += 1;
        return isHanging ? new Promise(() => undefined) : { target: "self" };
      }
    }
  });
  await asks(host, "Hello");
  await answered(host, 1_000);
  for (let death = 0; death < 12; death += 1) {
    await host.restart();
    await host.get(Support, "main");
    await answered(host, 30_000);
    expect(runs).toBe(death + 2);
  }
  isHanging = false;
  await host.restart();
  await host.get(Support, "main");
  await answered(host, 30_000);
  expect(texts()).toEqual(["Well."]);
});
