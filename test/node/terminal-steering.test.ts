// A person at the terminal of `everthink chat` types while an answer runs: the words are for that answer or for after it, and
// the terminal says what becomes of them.
import { PassThrough } from "node:stream";
import { tool } from "ai";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { converse } from "../../src/cli/chat/converse.ts";
import { Think } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script
} from "../../src/testing/index.ts";
import { Screen } from "../process/framework/screen.ts";
import { Network } from "./client-kit.ts";

const ENTER = "\r";
const ALT_ENTER = "\u001b\r";
const CONTROL_C = "\u0003";

let script: Script;
let held: PromiseWithResolvers<void>;

class Subject extends Think {
  override getModel() {
    return scriptedModel(script);
  }
  override getTools() {
    return { search: tool({ inputSchema: z.object({}), execute: async () => held.promise.then(() => "found") }) };
  }
}

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

/** A terminal with an answer whose tool runs. */
async function running() {
  held = Promise.withResolvers();
  script = createScript([
    reply(text("# Looking\n\nIn **Paris**."), toolCall("search", {}, { id: "c1" })),
    reply(text("In Rome.")),
    reply(text("And then.")),
    reply(text("More."))
  ]);
  const network = new Network(createTestHost({ agents: { Subject } }));
  const client = network.client();
  await network.settle();
  const [input, output] = [new PassThrough(), new PassThrough({ encoding: "utf8" })];
  const screen = new Screen();
  output.on("data", (piece: string) => screen.write(piece));
  const left = converse(client, { input, output, hasColors: true }, { title: "subject a", history: 0 });
  const sees = (words: string | RegExp) =>
    vi.waitFor(async () => {
      await network.settle();
      expect(screen.text).toMatch(words);
    });
  const types = (keys: string) => void input.write(keys);
  types(`Search in Paris.${ENTER}`);
  await sees(/In Paris\./);
  return { network, client, screen, sees, types, left };
}

const leave = async ({ types, left }: Pick<Awaited<ReturnType<typeof running>>, "types" | "left">) => {
  types(CONTROL_C);
  expect(await left).toBe(0);
};

test("Enter steers and Alt+Enter is for later; receipts are shown, and what becomes of both", async () => {
  const person = await running();
  const { sees, types, screen } = person;
  types(`No, in Rome.${ENTER}`);
  await sees("accepted (1): the model reads it before its next step");
  types(`And then?${ALT_ENTER}`);
  await sees("queued (2): it is the next turn");
  expect(screen.text).toContain("2 wait: /queue");
  types(`/queue${ENTER}`);
  await sees(/\n1 {2}steer {6}No, in Rome\.\n2 {2}follow-up {2}And then\?\n/);
  held.resolve();
  await sees(/And then\.\n>$/);
  await leave(person);
  expect(screen.text.split("\n")).toEqual([
    "subject a (Ctrl-C leaves, /help lists commands)",
    "> Search in Paris.",
    "Looking",
    "",
    "In Paris.",
    "> No, in Rome.",
    "accepted (1): the model reads it before its next step",
    "> And then?",
    "queued (2): it is the next turn",
    "> /queue",
    "1  steer      No, in Rome.",
    "2  follow-up  And then?",
    "┌ search {}",
    '└ "found"',
    "“No, in Rome.” applied: the model reads it now",
    "In Rome.",
    "“And then?” started: it is a turn of its own",
    "And then.",
    ""
  ]);
});

test("what waits is edited and withdrawn by its number", async () => {
  const person = await running();
  const { sees, types, client, network } = person;
  types(`/steer No, in Rome.${ENTER}`);
  await sees("accepted (1)");
  types(`/later And then?${ENTER}`);
  await sees("queued (2)");
  types(`/edit 1 No, in Oslo.${ENTER}`);
  await vi.waitFor(async () => {
    await network.settle();
    expect(JSON.stringify(client.getSnapshot().queued)).toContain("in Oslo");
  });
  // Without words the old ones are there to be changed.
  types(`/edit 2${ENTER}`);
  await sees(/Edit 2: And then\?$/);
  types(` Tell me.${ENTER}`);
  await vi.waitFor(async () => {
    await network.settle();
    expect(JSON.stringify(client.getSnapshot().queued)).toContain("And then? Tell me.");
  });
  types(`/withdraw 2${ENTER}`);
  await sees("withdrawn: the model does not read it");
  types(`/withdraw 2${ENTER}`);
  await sees(/Which one\? \/queue lists them: \/withdraw 1/);
  held.resolve();
  await sees(/“No, in Oslo\.” applied: the model reads it now\nIn Rome\.\n>$/);
  await leave(person);
});

test("what is half typed stays while the answer goes on below the lines that are done", async () => {
  const person = await running();
  const { sees, types } = person;
  types("half a thou");
  await sees(/\n> half a thou$/);
  held.resolve();
  await sees(/└ "found"\nIn Rome\.\n> half a thou$/);
  types(`ght${ENTER}`);
  await sees(/\n> half a thought\nAnd then\.\n>$/);
  await leave(person);
});

test("Ctrl-C stops the answer, and a steer that waited is a turn of its own", async () => {
  const person = await running();
  const { sees, types } = person;
  types(`No, in Rome.${ENTER}`);
  await sees("accepted (1)");
  types(CONTROL_C);
  await sees("“No, in Rome.” applied: the model reads it now");
  await sees(/In Rome\.\n>$/);
  await leave(person);
});
