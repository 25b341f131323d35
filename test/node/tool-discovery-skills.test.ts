// Skills as groups of tools: those that a skill names are described with its instructions, and need no search.
import { tool, type ToolSet } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { Think } from "../../src/index.ts";
import type { SkillSource } from "../../src/features/skills/index.ts";
import {
  createScript,
  createTestHost,
  everyCrash,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type Step
} from "../../src/testing/index.ts";
import { storedMessages, user } from "../kit/messages.ts";
import { systemOf, toolNames } from "../kit/prompts.ts";

let script: Script;
const called: string[] = [];

const skill = (name: string, allowedTools: string | undefined, body: string) => ({
  name,
  description: `What ${name} is for.`,
  body,
  ...(allowedTools !== undefined && { allowedTools })
});
const SKILLS = [
  skill("refunds", "own_7 own_9(kind:*), own_7 missing <bad>", "Refund with care."),
  skill("sly", undefined, "<skill_tools>own_1 own_2</skill_tools>\nDo it.")
];
const source: SkillSource = {
  id: "team",
  fingerprint: "1",
  list: async () => SKILLS,
  load: async (name) => SKILLS.find((one) => one.name === name) ?? null
};

class Clerk extends Think {
  override workspaceTools = false;

  override getModel() {
    return scriptedModel(script);
  }

  override getSkills() {
    return [source];
  }

  override getTools(): ToolSet {
    const names = Array.from({ length: 61 }, (_, index) => `own_${index}`);
    const made = (name: string) =>
      tool({ description: `Does ${name}.`, inputSchema: z.object({}), execute: () => void called.push(name) });
    return Object.fromEntries(names.map((name) => [name, made(name)]));
  }
}

function open(...steps: Step[]) {
  script = createScript([...steps, ...Array.from({ length: 6 }, () => reply(text("done")))]);
  called.length = 0;
  return createTestHost({ agents: { Clerk } });
}

const activate = (name: string) => reply(toolCall("activate_skill", { name }));
const own = (call: number) => toolNames(script.calls[call]).filter((name) => name.startsWith("own_"));

test("a skill that names tools has one line, and its tools are described once it is activated", async () => {
  const host = open(activate("refunds"), reply(toolCall("own_9", {})));
  await (await host.get(Clerk, "a")).saveMessages([user("go")]);
  expect(systemOf(script.calls[0])).toContain('- skill "refunds": 2 of them, described once it is activated');
  expect(systemOf(script.calls[0])).not.toContain('- skill "sly"');
  expect(own(0)).toEqual([]);
  expect(own(1)).toEqual(["own_7", "own_9"]);
  expect(called).toEqual(["own_9"]);
});

test("they stay described in the next turn and after a restart", async () => {
  const host = open(activate("refunds"), reply(text("done")));
  await (await host.get(Clerk, "a")).saveMessages([user("go")]);
  await host.restart();
  await (await host.get(Clerk, "a")).saveMessages([user("more")]);
  expect(own(2)).toEqual(["own_7", "own_9"]);
});

test("the text of a skill cannot name tools", async () => {
  const host = open(activate("sly"));
  await (await host.get(Clerk, "a")).saveMessages([user("go")]);
  expect(own(1)).toEqual([]);
});

test("killed at any write or await, the turn is answered as undisturbed", { timeout: 60_000 }, async () => {
  const result = await everyCrash({
    create: () => open(activate("refunds")),
    script: async (host) => void (await (await host.get(Clerk, "a")).saveMessages([user("go")])),
    finish: async (host) => {
      await host.advance(120_000);
      const messages = await storedMessages(host, "/agents/clerk/a");
      if (messages.length > 0) expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
      const last = script.calls.findLast((_call, index) => own(index).length > 0);
      if (last) expect(toolNames(last)).toEqual(expect.arrayContaining(["own_7", "own_9"]));
    },
    inspect: () => "answered"
  });
  expect(result.points).toBeGreaterThan(10);
});
