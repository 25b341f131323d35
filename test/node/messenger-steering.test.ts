// With `messageConcurrency: "steer"` a message of a chat app that comes while its thread is being answered joins that
// answer: there is one reply, that of the chain. Fake Telegram's own messages decide.
import { tool } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { SteerContext, SteerDecision } from "../../src/index.ts";
import {
  createGate,
  createTestHost,
  everyCrash,
  reply,
  text,
  toolCall,
  type StepFunction
} from "../../src/testing/index.ts";
import { linesOf } from "../kit/messages.ts";
import { answered, type Host, open as openScene, says, scene, Support as Base } from "./messengers-kit.ts";

vi.setConfig({ testTimeout: 600_000 });

let gate = createGate();
let searched = 0;
let onSteer: (context: SteerContext) => SteerDecision | void;

class Support extends Base {
  override messageConcurrency = "steer" as const;
  /** Conversations of messengers are closed to clients. */
  heard(): string[] {
    return linesOf(this.messages);
  }
  override onSteer(context: SteerContext) {
    return onSteer(context);
  }
  override getTools() {
    return {
      search: tool({
        inputSchema: z.object({}),
        execute: async () => {
          searched += 1;
          await gate.opened;
          return "found";
        }
      })
    };
  }
}

beforeEach(() => {
  gate = createGate();
  searched = 0;
  onSteer = () => undefined;
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const searches = reply(text("Looking around in Paris for you. "), toolCall("search", {}, { id: "c1" }));

async function open(
  steps: Parameters<typeof openScene>[0],
  changes: Parameters<typeof openScene>[1] = {}
): Promise<Host> {
  await openScene(steps, { ...changes, definition: { conversation: "self", ...changes?.definition } });
  // What the kit does with a host does not depend on the class behind it.
  return createTestHost({ agents: { Support } }) as object as Host;
}

const heard = async (host: Host) => (await host.get(Support, "main")).heard();

describe("a message that comes while its thread is being answered", () => {
  test("joins the answer: there is one reply, that of the chain", async () => {
    const host = await open([searches, reply(text("In Rome there are many."))]);
    await says(host, "Find hotels in Paris");
    await answered(host, 3_000);
    await says(host, "no, in Rome");
    await answered(host, 3_000);
    expect(scene.script.calls).toHaveLength(1);
    gate.open();
    await answered(host);
    expect(scene.telegram.texts()).toEqual(["In Rome there are many."]);
    expect(searched).toBe(1);
    expect((await heard(host)).slice(1)).toEqual([
      "assistant:Looking around in Paris for you. ",
      "user:no, in Rome",
      "assistant:In Rome there are many."
    ]);
  });

  test("steers once however often its webhook is delivered, and those within the pause steer as one", async () => {
    const host = await open([searches, reply(text("In Rome."))]);
    await says(host, "Find hotels in Paris");
    await answered(host, 3_000);
    const request = scene.telegram.says("no, in Rome", {
      url: "http://localhost/agents/support/main/messengers/telegram/webhook"
    });
    const again = [request.clone(), request.clone()];
    await host.fetch(request);
    await host.fetch(again[0] as Request);
    await says(host, "and cheap");
    await answered(host, 3_000);
    await says(host, "near the river");
    await answered(host, 3_000);
    gate.open();
    await answered(host);
    await host.restart();
    await host.fetch(again[1] as Request);
    await answered(host, 400_000);
    expect(scene.telegram.texts()).toEqual(["In Rome."]);
    expect(scene.script.calls).toHaveLength(2);
    const asked = JSON.stringify(scene.script.calls[1]?.prompt);
    expect(asked).toMatch(/no, in Rome.*and cheap.*near the river/);
    expect(asked.match(/no, in Rome/g)).toHaveLength(1);
  });

  test("that finds no further step is answered next, in a reply of its own", async () => {
    const slow = createGate();
    const host = await open([reply(text("first"), slow.wait(), text(" done")), reply(text("second"))]);
    await says(host, "one");
    await answered(host, 3_000);
    await says(host, "two");
    await answered(host, 3_000);
    slow.open();
    await answered(host, 30_000);
    expect(scene.telegram.texts()).toEqual(["first done", "second"]);
    expect(scene.script.calls).toHaveLength(2);
  });

  test("and is refused as a steer by the class is a question of its own", async () => {
    onSteer = () => ({ action: "refuse" });
    const host = await open([searches, reply(text("Paris it is.")), reply(text("Rome it is."))]);
    await says(host, "Find hotels in Paris");
    await answered(host, 3_000);
    await says(host, "and in Rome?");
    await answered(host, 3_000);
    gate.open();
    await answered(host, 30_000);
    expect(scene.telegram.texts().map((line) => line.slice(-12))).toEqual(["Paris it is.", "Rome it is."]);
  });

  test("of another thread does not join it, though one conversation answers both", async () => {
    const host = await open([searches, reply(text("Paris it is.")), reply(text("Hello, Grace."))]);
    await says(host, "Find hotels in Paris");
    await answered(host, 3_000);
    await says(host, "Hello", { chatId: 99, from: { id: 99, first_name: "Grace" } });
    await answered(host, 3_000);
    gate.open();
    await answered(host, 30_000);
    expect(scene.script.calls).toHaveLength(3);
    expect((await heard(host)).at(-2)).toBe("user:Hello");
  });
});

test("killed at its writes and awaits, a message that joins an answer is read once, and the chat has one complete reply", async () => {
  const outcomes: { texts: string[]; said: number; asked: number }[] = [];
  let second: Request | undefined;
  const step: StepFunction = ({ prompt }) => {
    const isTold = JSON.stringify(prompt).includes("no, in Rome");
    const hasSearched = prompt.some(({ role }) => role === "tool");
    return isTold ? reply(text("Rome.")) : hasSearched ? reply(text("Paris.")) : searches;
  };
  await everyCrash({
    create: async () => {
      gate = createGate();
      const host = await open(Array.from({ length: 30 }, () => step));
      second = scene.telegram.says("no, in Rome", {
        url: "http://localhost/agents/support/main/messengers/telegram/webhook"
      });
      await says(host, "Find hotels in Paris");
      await answered(host, 3_000);
      return host;
    },
    script: async (host) => {
      await host.fetch(second?.clone() as Request).catch(() => undefined);
      await answered(host, 3_000);
      gate.open();
      await answered(host, 10_000);
    },
    finish: async (host) => {
      gate.open();
      await host.fetch(second?.clone() as Request).catch(() => undefined);
      await answered(host, 400_000);
    },
    inspect: async (host) => {
      const lines = await heard(host);
      outcomes.push({
        texts: scene.telegram.texts().filter((line) => !line.endsWith("…")),
        said: lines.filter((line) => line === "user:no, in Rome").length,
        asked: lines.filter((line) => line === "assistant:Rome.").length
      });
    },
    points: "both"
  });
  expect(outcomes.length).toBeGreaterThan(30);
  for (const { texts, said, asked } of outcomes) {
    expect({ said, asked }).toEqual({ said: 1, asked: 1 });
    // A turn that the crash ended before the message came has a reply of its own.
    expect([["Rome."], ["Looking around in Paris for you. Paris.", "Rome."]]).toContainEqual(texts);
  }
});
