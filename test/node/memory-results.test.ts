// What was cut can be read again by the model: old outputs, and outputs too large for a row. And what must never be cut.
import { tool, type ToolSet, type UIMessage } from "ai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { action } from "../../src/features/actions/index.ts";
import { Think } from "../../src/index.ts";
import { createScript, createTestHost, reply, stall, text, toolCall, type Step } from "../../src/testing/index.ts";
import type { Feature, FeatureFactory } from "../../src/feature/feature.ts";
import { companion, Companion, lastCall, open, say, scene, shown } from "./memory-kit.ts";
import { promptOf, toolNames } from "../kit/prompts.ts";
import { user } from "../kit/messages.ts";

const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index} ÄÖ😀`).join("\n");
/** Too long to be shown when it is old. */
const LINES = lines(1_500);
/** So long that its row gives it up when it is old. */
const MANY_LINES = lines(6_000);
const returns = (output: unknown) => tool({ inputSchema: z.object({}), execute: async () => output });
const chat = (count: number): Step[] => Array.from({ length: count }, (_, index) => reply(text(`answer ${index}`)));

/** Enough for everything before it to be old. */
const TURNS = 8;

async function talk(host: ReturnType<typeof open>, turns: number) {
  for (let turn = 0; turn < turns; turn += 1) await say(host, `question ${turn} ${scene.script.callCount}`);
}

/** Outputs of the calls of a tool, in order. */
async function outputsOf(host: ReturnType<typeof open>, toolName: string): Promise<unknown[]> {
  const parts = (await shown(host)).flatMap(({ parts }) => parts);
  return parts.filter(({ type }) => type === `tool-${toolName}`).map((part) => Reflect.get(part, "output") as unknown);
}

interface Page {
  readonly text: string;
  readonly next?: number;
  readonly totalChars?: number;
}

/** Reads until there is nothing more to read, then says so. */
const readsAll =
  (id: string): Step =>
  (call) => {
    const results = call.prompt.findLast(({ role }) => role === "tool")?.content ?? [];
    const last = typeof results === "string" ? undefined : results.at(-1);
    const page = last?.type === "tool-result" && last.toolName === "read_result" ? last.output : undefined;
    const value = page?.type === "json" ? (page.value as object as Page) : undefined;
    if (value && value.next === undefined) return reply(text("read"));
    return reply(toolCall("read_result", { id, ...(value && { from: value.next }) }));
  };

afterEach(() => void vi.restoreAllMocks());

describe("an output that has become old", () => {
  const fetched = (output: unknown) => ({
    steps: [reply(toolCall("fetch", {}, { id: "c1" })), ...chat(TURNS)],
    tools: { fetch: returns(output) }
  });

  test.each([
    ["cut", LINES],
    ["evicted", MANY_LINES]
  ])("is %s with its id, and read to its end in pages, also after a restart", async (_how, output) => {
    const { steps, tools } = fetched(output);
    const host = open([...steps, ...Array.from({ length: 9 }, () => readsAll("c1"))], { tools });
    await talk(host, TURNS);
    expect(promptOf(lastCall())).toMatch(/read_result with id \\+"c1\\+" gives the whole/);
    expect(promptOf(lastCall())).not.toContain("line 100 ");
    await host.restart();
    await say(host, "read it all");
    const pages = (await outputsOf(host, "read_result")) as Page[];
    expect(pages.map(({ text: page }) => page).join("")).toBe(output);
    expect(pages.every(({ text: page }) => page.length <= 20_000)).toBe(true);
    expect(pages[0]?.totalChars).toBe(output.length);
  });

  test("brings the tool with it: turns in which nothing was cut do not have it", async () => {
    const { steps, tools } = fetched(LINES);
    const host = open(steps, { tools });
    await talk(host, TURNS);
    const calls = scene.script.calls.map(
      (call) => [promptOf(call).includes("gives the whole"), toolNames(call)] as const
    );
    expect(calls.some(([isCut]) => isCut)).toBe(true);
    expect(calls.some(([isCut]) => !isCut)).toBe(true);
    for (const [isCut, names] of calls) expect(names.includes("read_result")).toBe(isCut);
  });

  test.each<[string, unknown]>([
    ["an object", { rows: LINES, count: 1_500 }],
    ["a list", LINES.split("\n")]
  ])("keeps its kind, at most 500 characters, and its id: %s", async (_name, output) => {
    const { steps, tools } = fetched(output);
    const host = open([...steps, reply(toolCall("read_result", { id: "c1", from: 10, length: 50 })), ...chat(1)], {
      tools
    });
    await talk(host, TURNS + 1);
    const results = scene.script.calls[TURNS]?.prompt.find(({ role }) => role === "tool")?.content ?? [];
    const value = results[0] instanceof Object && "output" in results[0] ? results[0].output : undefined;
    const cut = value?.type === "json" ? value.value : undefined;
    expect(Array.isArray(cut)).toBe(Array.isArray(output));
    expect(JSON.stringify(cut).length).toBeLessThanOrEqual(500);
    expect(JSON.stringify(cut)).toContain("c1");
    expect(await outputsOf(host, "read_result")).toMatchObject([
      { text: JSON.stringify(output).slice(10, 60), next: 60, totalChars: JSON.stringify(output).length }
    ]);
    expect(await outputsOf(host, "fetch")).toEqual([output]);
  });

  test("can be read by a turn that died and is recovered", async () => {
    const { steps, tools } = fetched(LINES);
    const host = open([...steps, reply(stall()), reply(toolCall("read_result", { id: "c1" })), ...chat(1)], { tools });
    await talk(host, TURNS);
    void say(host, "read it").catch(() => undefined);
    await host.advance(2_000);
    await host.restart();
    await host.advance(60_000);
    expect(await outputsOf(host, "read_result")).toMatchObject([{ id: "c1", text: LINES.slice(0, 20_000) }]);
  });

  test("and an unknown id costs an answer, not a look through the conversation", async () => {
    const { steps, tools } = fetched(LINES);
    const unknown = [reply(toolCall("read_result", { id: "other" })), ...chat(1)];
    const rowsRead: number[] = [];
    for (const history of [20, 300]) {
      const host = open([...steps, ...unknown], { tools });
      await (await companion(host)).fill(0, history);
      await talk(host, TURNS);
      const before = host.counts.rowsRead;
      await talk(host, 1);
      rowsRead.push(host.counts.rowsRead - before);
      expect(await outputsOf(host, "read_result")).toMatchObject([{ error: { name: "ResultGone" } }]);
    }
    expect(rowsRead[1]).toBe(rowsRead[0]);
  });
});

test("an output too large for its row is named while it is recent, and read whole", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const log = `begin ${"0123456789".repeat(200_000)} the end`;
  const host = open(
    [
      reply(toolCall("dump", {}, { id: "c1" })),
      ...chat(1),
      reply(toolCall("read_result", { id: "c1", from: log.length - 10 })),
      ...chat(1)
    ],
    { tools: { dump: returns({ log }) } }
  );
  await say(host, "dump");
  await host.restart();
  await say(host, "how does it end?");
  expect(promptOf(scene.script.calls[2])).toContain("__rest");
  expect(promptOf(scene.script.calls[2]).length).toBeLessThan(20_000);
  expect(await outputsOf(host, "read_result")).toMatchObject([
    { text: expect.stringContaining('the end"}') as string }
  ]);
});

describe("one tool read_result", () => {
  const long = `${"y".repeat(30_000)}END`;

  class WithActions extends Companion {
    override getActions() {
      return {
        report: action({ description: "Long.", inputSchema: z.object({}), execute: () => long })
      };
    }
  }

  test("reads results of actions and old outputs alike", async () => {
    Object.assign(scene, {
      script: createScript([
        reply(toolCall("fetch", {}, { id: "c1" })),
        ...chat(TURNS),
        reply(toolCall("report", {}, { id: "c2" })),
        (call) => {
          const id = /id \\+"(result_[^"\\]+)/.exec(promptOf(call))?.[1] ?? "";
          return reply(
            toolCall("read_result", { id, from: 30_000 }, { id: "c3" }),
            toolCall("read_result", { id: "c1", length: 10 }, { id: "c4" })
          );
        },
        ...chat(1)
      ]),
      tools: { fetch: returns(LINES) }
    });
    const host = createTestHost({ agents: { WithActions } });
    const agent = await host.get(WithActions, "a");
    for (let turn = 0; turn <= TURNS; turn += 1) await agent.say(`question ${turn}`);
    const messages: UIMessage[] = await agent.getMessages();
    const outputs = messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "tool-read_result"));
    expect(outputs).toMatchObject([{ output: { text: "END" } }, { output: { id: "c1", text: LINES.slice(0, 9) } }]);
    expect(toolNames(lastCall()).filter((name) => name === "read_result")).toHaveLength(1);
  });

  test("gives way to the class's own of that name, and then nothing points to it", async () => {
    const tools = {
      fetch: returns(LINES),
      read_result: tool({ description: "mine", inputSchema: z.object({}), execute: async () => "mine" })
    };
    const host = open([reply(toolCall("fetch", {}, { id: "c1" })), ...chat(TURNS)], { tools });
    await talk(host, TURNS);
    expect(lastCall()?.tools?.filter(({ name }) => name === "read_result")).toMatchObject([{ description: "mine" }]);
    expect(promptOf(lastCall())).toContain("[truncated");
    expect(promptOf(lastCall())).not.toContain("gives the whole");
  });

  test("gives way to a channel that leaves it out", async () => {
    class Quiet extends Companion {
      override getFeatures(): FeatureFactory[] {
        const channelPolicy = () => ({ tools: ({ fetch }: ToolSet): ToolSet => (fetch ? { fetch } : {}) });
        return [() => ({ name: "test-channels", roles: { channelPolicy } })];
      }
      async ask(words: string) {
        await this.saveMessages([user(words)], {
          channel: "pager"
        });
      }
    }
    Object.assign(scene, {
      script: createScript([reply(toolCall("fetch", {}, { id: "c1" })), ...chat(TURNS)]),
      tools: { fetch: returns(LINES) }
    });
    const host = createTestHost({ agents: { Quiet } });
    const agent = await host.get(Quiet, "a");
    for (let turn = 0; turn < TURNS; turn += 1) await agent.ask(`question ${turn}`);
    expect(toolNames(lastCall())).toEqual(["fetch"]);
    expect(promptOf(lastCall())).toContain("[truncated");
    expect(promptOf(lastCall())).not.toContain("gives the whole");
  });
});

describe("what the model works with", () => {
  const skill: Feature = {
    name: "skills",
    inTurn: () => ({ tools: { skills: { activate_skill: returns(`SKILL ${"s".repeat(40_000)} END`) } } }),
    calls: { keepOutput: ({ toolName }) => (toolName === "activate_skill" ? "skill" : undefined) }
  };
  class Skilled extends Companion {
    override getFeatures() {
      return [() => skill];
    }
  }

  test("is never cut: loaded documents, activated skills, and what the class names", async () => {
    const document = `DOCUMENT ${"d".repeat(40_000)} END`;
    Object.assign(scene, {
      script: createScript([
        reply(
          toolCall("load_context", { label: "shelf", key: "guide" }, { id: "c1" }),
          toolCall("activate_skill", {}, { id: "c2" }),
          toolCall("fetch", {}, { id: "c3" })
        ),
        ...chat(20)
      ]),
      tools: { fetch: returns(`FETCHED ${"f".repeat(20_000)} END`) },
      blocks: ((session) =>
        session.withContext("shelf", {
          provider: { get: async () => "guide", load: async () => document }
        })) satisfies typeof scene.blocks
    });
    const host = createTestHost({ agents: { Skilled } });
    const agent = await host.get(Skilled, "a");
    for (let turn = 0; turn < 10; turn += 1) await agent.say(`question ${turn}`);
    await host.restart();
    for (let turn = 10; turn < 20; turn += 1) await (await host.get(Skilled, "a")).say(`question ${turn}`);
    const prompt = promptOf(lastCall());
    expect(prompt).toContain(document);
    expect(prompt).toMatch(/SKILL s+ END/);
    expect(prompt).toContain("FETCHED f");
    expect(prompt).not.toMatch(/FETCHED f+ END/);
    expect(prompt.split("gives the whole")).toHaveLength(2);
  });
});

test("a class without long outputs is a class without the tool", async () => {
  class Plain extends Think {
    override workspaceTools = false;
    override getModel = Companion.prototype.getModel;
    override getTools = () => ({ fetch: returns("short") });
    async say(words: string) {
      await this.saveMessages([user(words)]);
    }
  }
  scene.script = createScript([reply(toolCall("fetch", {}, { id: "c1" })), ...chat(TURNS)]);
  const host = createTestHost({ agents: { Plain } });
  for (let turn = 0; turn < TURNS; turn += 1) await (await host.get(Plain, "a")).say(`question ${turn}`);
  expect(scene.script.calls.every((call) => toolNames(call).join() === "fetch")).toBe(true);
});
