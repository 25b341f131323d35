// The guard that makes room between two steps of a turn, before the next would not fit: each test is named after its
// promise. Runs on both majors of the SDK, which keep a step's messages in different ways.
import { tool, type ModelMessage } from "ai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { defaultContextOverflowClassifier } from "../../src/index.ts";
import { failInBand, reply, text, toolCall, usage, type ScriptPart } from "../../src/testing/index.ts";
import type { CompactFunction } from "../../src/session/index.ts";
import {
  connect,
  eventsOf,
  fill,
  open,
  resultLengths,
  said,
  scene,
  stored,
  summarize,
  unpaired,
  warnings,
  type Server,
  type Settings
} from "./limits-kit.ts";
import { endsOf, settleDown } from "./recovery-kit.ts";
import { ask } from "../kit/frames.ts";
import { toolParts, user } from "../kit/messages.ts";
import { promptOf } from "../kit/prompts.ts";
import { never } from "../kit/time.ts";

afterEach(() => void vi.restoreAllMocks());

const WINDOW = 1_000;
const FULL = usage({ input: 900, output: 10 });
const SMALL = usage({ input: 899, output: 500 });

const work = tool({
  inputSchema: z.object({ what: z.string(), size: z.number().optional() }),
  execute: async ({ what, size }) => {
    scene.effects.push(what);
    return `${what} ${"x".repeat(size ?? 1)}`;
  }
});
const works = (what: string, size?: number) => toolCall("work", { what, ...(size && { size }) }, { id: what });
const step = (what: string, used: ScriptPart) => reply(works(what), used);

const guarded = (more: Settings = {}): Settings => ({
  overflow: { proactive: { maxInputTokens: WINDOW } },
  compact: summarize(),
  tools: () => ({ work }),
  ...more
});

/** Each time the oldest two messages become one summary. */
function inSteps(): CompactFunction {
  let round = 0;
  return ([first, second]) =>
    first && second ? { fromMessageId: first.id, toMessageId: second.id, summary: `SUMMARY${++round}` } : null;
}

async function askOnce(host: Server) {
  await fill(host);
  const socket = await connect(host);
  ask(socket, "r1");
  await host.idle();
  return socket;
}

const compactions = () => eventsOf("chat:context:compacted");
const prompts = () => scene.script.calls.map((call) => promptOf(call));
const compacted = () => prompts().map((prompt) => /SUMMARY\d*/.exec(prompt)?.[0] ?? "whole");

describe("a step that read 90 % of the window", () => {
  test("is followed by a compaction; this step and all later ones read the shorter history", async () => {
    const steps = [step("a", FULL), step("b", SMALL), step("c", SMALL), reply(text("done"))];
    const host = open(steps, guarded());
    const socket = await askOnce(host);
    expect(compacted()).toEqual(["whole", "SUMMARY", "SUMMARY", "SUMMARY"]);
    expect(prompts().slice(1).join()).not.toContain("OLD0");
    expect(unpaired()).toEqual([]);
    expect(prompts()[3]).toMatch(/a x.*b x.*c x/);
    expect(compactions()).toEqual([{ reason: "proactive", shortened: true, requestId: "r1", attempt: 1 }]);
    expect(scene.effects).toEqual(["a", "b", "c"]);
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:done"]);
  });

  test("is followed by a prompt that holds everything once, in order", async () => {
    const host = open([step("a", FULL), step("b", SMALL), reply(text("done"))], guarded());
    await askOnce(host);
    const shape = scene.script.calls.map(({ prompt }) =>
      prompt.filter(({ role }) => role !== "system").map(({ role }) => role)
    );
    expect(shape[0]).toEqual(["user", "assistant", "user", "assistant", "user", "assistant", "user"]);
    const short = ["assistant", "assistant", "user"];
    expect(shape[1]).toEqual([...short, "assistant", "tool"]);
    expect(shape[2]).toEqual([...short, "assistant", "tool", "assistant", "tool"]);
  });

  test.each<[string, ScriptPart | undefined, boolean]>([
    ["input tokens at the limit", FULL, true],
    ["input tokens below it, however long the answer", SMALL, false],
    ["no input tokens, but a total at the limit", usage({ output: 900 }), true],
    ["nothing", undefined, false]
  ])("as far as is known: %s", async (_what, used, isDue) => {
    const host = open([reply(works("a"), ...(used ? [used] : [])), reply(text("done"))], guarded());
    await askOnce(host);
    expect(compactions()).toHaveLength(isDue ? 1 : 0);
  });

  test("is not asked of the first step of a turn, whatever the turn before it read", async () => {
    const host = open([reply(text("one"), FULL), reply(text("two"), FULL)], guarded());
    const socket = await askOnce(host);
    ask(socket, "r2");
    await host.idle();
    expect(scene.script.callCount).toBe(2);
    expect(compactions()).toEqual([]);
  });

  test.each([
    [0.5, 500, true],
    [0.5, 499, false],
    [1, 999, false]
  ])("or whatever part is set: headroom %s, %s tokens", async (headroom, input, isDue) => {
    const host = open([reply(works("a"), usage({ input })), reply(text("done"))], {
      ...guarded(),
      overflow: { proactive: { maxInputTokens: WINDOW, headroom } }
    });
    await askOnce(host);
    expect(compactions()).toHaveLength(isDue ? 1 : 0);
  });
});

describe("how often", () => {
  const steps = () => [step("a", FULL), step("b", FULL), step("c", FULL), step("d", FULL), reply(text("done"))];

  test.each([
    [undefined, ["whole", "SUMMARY1", "SUMMARY1", "SUMMARY1", "SUMMARY1"]],
    [0, ["whole", "SUMMARY1", "SUMMARY1", "SUMMARY1", "SUMMARY1"]],
    [2, ["whole", "SUMMARY1", "SUMMARY2", "SUMMARY2", "SUMMARY2"]]
  ])("maxCompactions %s; calls and results stay balanced over all of them", async (maxCompactions, expected) => {
    const proactive = { maxInputTokens: WINDOW, ...(maxCompactions !== undefined && { maxCompactions }) };
    const host = open(steps(), guarded({ overflow: { proactive }, compact: inSteps() }));
    await askOnce(host);
    expect(compacted()).toEqual(expected);
    expect(unpaired()).toEqual([]);
    expect(compactions()).toHaveLength(maxCompactions || 1);
    expect(scene.effects).toEqual(["a", "b", "c", "d"]);
  });

  test("a compaction that changes nothing is tried once, and uses up its turn", async () => {
    const host = open(steps(), guarded({ compact: () => null }));
    await askOnce(host);
    expect(compactions()).toEqual([{ reason: "proactive", shortened: false, requestId: "r1", attempt: 1 }]);
    expect(compacted()).toEqual(["whole", "whole", "whole", "whole", "whole"]);
    expect(said(await stored(host)).at(-1)).toBe("assistant:done");
  });

  test("each turn has its own", async () => {
    const host = open([...steps(), ...steps()], guarded({ compact: inSteps() }));
    const socket = await askOnce(host);
    ask(socket, "r2");
    await host.idle();
    expect(compactions()).toMatchObject([{ requestId: "r1" }, { requestId: "r2" }]);
  });

  test("retries after a refusal are counted apart", async () => {
    const refusal = reply(failInBand(new Error("prompt is too long")));
    const host = open([step("a", FULL), refusal, reply(text("done"))], {
      ...guarded({ compact: inSteps(), classify: defaultContextOverflowClassifier }),
      overflow: { reactive: true, proactive: { maxInputTokens: WINDOW } }
    });
    await askOnce(host);
    expect(compactions()).toMatchObject([
      { reason: "proactive", attempt: 1 },
      { reason: "reactive", attempt: 1 }
    ]);
    expect(said(await stored(host)).at(-1)).toBe("assistant:done");
    expect(scene.effects).toEqual(["a"]);
    expect(unpaired()).toEqual([]);
  });
});

describe("what else shapes the prompt", () => {
  test("beforeStep sees the shorter messages, and what it returns wins for its step", async () => {
    const seen: string[] = [];
    const host = open([step("a", FULL), reply(text("done"))], {
      ...guarded(),
      beforeStep: ({ stepNumber, messages }) => {
        seen.push(JSON.stringify(messages).includes("SUMMARY") ? "short" : "whole");
        if (stepNumber === 1) return { messages: [...messages, { role: "user", content: "one more thing" }] };
      }
    });
    await askOnce(host);
    expect(seen).toEqual(["whole", "short"]);
    expect(prompts()[1]).toMatch(/SUMMARY.*one more thing/);
  });

  test("what beforeTurn put around the history stays around it", async () => {
    const note = (content: string): ModelMessage => ({ role: "user", content });
    const host = open([step("a", FULL), reply(text("done"))], {
      ...guarded(),
      beforeTurn: ({ messages }) => ({ messages: [note("BEFORE"), ...messages, note("AFTER")] })
    });
    await askOnce(host);
    expect(prompts()[1]).toMatch(/BEFORE.*SUMMARY.*u-r1.*AFTER.*a x/);
    expect(prompts()[1]).not.toContain("OLD0");
  });

  test("messages that beforeTurn made itself are left alone, and nothing is compacted in vain", async () => {
    const host = open([step("a", FULL), reply(text("done"))], {
      ...guarded(),
      beforeTurn: () => ({ messages: [{ role: "user", content: "MINE" }] })
    });
    await askOnce(host);
    expect(compactions()).toEqual([]);
    expect(prompts()[1]).toMatch(/MINE.*a x/);
  });

  test("messages that tools add to the conversation do not get into the running turn", async () => {
    const host = open([reply(toolCall("post", {}, { id: "a" }), FULL), reply(text("done"))], {
      ...guarded(),
      tools: (agent) => ({
        post: tool({
          inputSchema: z.object({}),
          execute: async () => {
            await agent.addMessages([user("p1", "POSTED")]);
            return "ok";
          }
        })
      })
    });
    await askOnce(host);
    expect(prompts()[1]).toContain("SUMMARY");
    expect(prompts()[1]).not.toContain("POSTED");
    expect(unpaired()).toEqual([]);
  });

  test("an approved call that runs at the start of a continuation keeps its result", async () => {
    const pay = tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => "paid" });
    const steps = [reply(toolCall("pay", {}, { id: "p" })), step("a", FULL), step("b", FULL), reply(text("done"))];
    const host = open(steps, { ...guarded(), tools: () => ({ work, pay }) });
    const socket = await askOnce(host);
    socket.send({ type: "cf_agent_tool_approval", toolCallId: "p", approved: true, autoContinue: true });
    await settleDown(host);
    expect(compacted()).toEqual(["whole", "whole", "SUMMARY", "SUMMARY"]);
    expect(unpaired()).toEqual([]);
    expect(prompts()[3]?.match(/"value":"paid"/g)).toHaveLength(1);
    expect(said(await stored(host)).at(-1)).toBe("assistant:done");
  });
});

describe("when compacting does not help", () => {
  test("a failure is warned of, and the step goes on as it is", async () => {
    const host = open([step("a", FULL), reply(text("done"))], {
      ...guarded({ compact: () => Promise.reject(new Error("no model")) })
    });
    const socket = await askOnce(host);
    expect(compacted()).toEqual(["whole", "whole"]);
    expect(warnings().length).toBeGreaterThan(0);
    expect(compactions()).toMatchObject([{ shortened: false }]);
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
  });

  test("the turn's own results are cut as far as needed, oldest first; what is stored stays whole", async () => {
    const over = usage({ input: 10_000 });
    const steps = [
      reply(works("a", 9_000)),
      reply(works("b", 9_000), over),
      reply(works("c", 100)),
      reply(text("done"))
    ];
    const host = open(steps, {
      ...guarded({ compact: () => null }),
      overflow: { proactive: { maxInputTokens: 9_800, headroom: 1 } }
    });
    await askOnce(host);
    expect(resultLengths(1)).toEqual([9_002]);
    // 200 tokens too many, and the new result: about 9,800 characters.
    expect(resultLengths(2)).toEqual([2_000, 2_000]);
    expect(resultLengths(3)).toEqual([2_000, 2_000, 102]);
    expect(unpaired()).toEqual([]);
    const lengths = toolParts(await stored(host)).map(({ output }) => String(output).length);
    expect(lengths).toEqual([9_002, 9_002, 102]);
  });

  test("a hanging compaction does not hold up a cancel", async () => {
    const host = open([step("a", FULL), reply(text("two"))], guarded({ compact: () => never() }));
    const socket = await askOnce(host);
    expect(scene.script.callCount).toBe(1);
    socket.send({ type: "cf_agent_chat_request_cancel", id: "r1" });
    await host.idle();
    expect(endsOf(socket, "r1")).toEqual(["aborted"]);
    ask(socket, "r2");
    await host.idle();
    expect(endsOf(socket, "r2")).toEqual(["completed"]);
  });

  test("the time it takes is not the model's silence", async () => {
    const host = open([step("a", FULL), reply(text("done"))], {
      ...guarded({ compact: () => never() }),
      stallMs: 10_000
    });
    const socket = await askOnce(host);
    await host.advance(120_000);
    expect(eventsOf("chat:stream:stalled")).toEqual([]);
    await host.advance(200_000);
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
    expect(compactions()).toMatchObject([{ shortened: false }]);
  });

  test("a guard without a window, and a class without one, change nothing", async () => {
    for (const overflow of [undefined, { proactive: { maxInputTokens: 0 } }]) {
      const { overflow: _guard, ...rest } = guarded();
      const host = open([step("a", FULL), reply(text("done"))], { ...rest, ...(overflow && { overflow }) });
      await askOnce(host);
      expect(compactions()).toEqual([]);
      expect(said(await stored(host)).at(-1)).toBe("assistant:done");
    }
  });
});
