import { describe, expect, it, test } from "vitest";
import { createCompactFunction, MAX_SUMMARY_STEPS, type CompactOptions } from "./compact-function.ts";
import { buildSummaryPrompt, chunksOf, computeSummaryBudget } from "./compact-function-prompt.ts";
import type { SessionMessage } from "./session-message.ts";
import { text } from "./session.test-support.ts";
import { estimateMessageTokens, estimateStringTokens } from "./tokens.ts";

const list = (count: number, words = 20): SessionMessage[] =>
  Array.from({ length: count }, (_, index) =>
    text(`m${index}`, index % 2 === 0 ? "user" : "assistant", `word${index} `.repeat(words))
  );

function compactor(options: Partial<CompactOptions> = {}) {
  const prompts: string[] = [];
  const compact = createCompactFunction({
    summarize: async (prompt) => `summary ${prompts.push(prompt)}`,
    tailTokenBudget: 0,
    ...options
  });
  return { prompts, compact };
}

describe("the usual compaction function", () => {
  test.each([0, 3, 5])("leaves %i messages alone", async (count) => {
    const { compact, prompts } = compactor();
    expect(await compact(list(count))).toBeNull();
    expect(prompts).toEqual([]);
  });

  it("keeps the first three and the last two, and summarizes what is between", async () => {
    const { compact, prompts } = compactor();
    expect(await compact(list(10))).toEqual({ fromMessageId: "m3", toMessageId: "m7", summary: "summary 1" });
    expect(prompts[0]).toContain("word3");
    expect(prompts[0]).toContain("word7");
    expect(prompts[0]).not.toContain("word2");
    expect(prompts[0]).not.toContain("word8");
  });

  it("keeps the newest messages that fit into its tail, and has nothing to do when all do", async () => {
    const messages = list(12);
    const tailTokenBudget = estimateMessageTokens(messages.slice(-4));
    expect(await compactor({ tailTokenBudget }).compact(messages)).toMatchObject({ toMessageId: "m7" });
    expect(await compactor({ tailTokenBudget: 20_000 }).compact(messages)).toBeNull();
  });

  it("measures the tail by what the provider counted, so that a trigger by that number always finds something", async () => {
    const { compact } = compactor({ tailTokenBudget: 20_000 });
    expect(await compact(list(12), { tokenEstimate: 100_000 })).not.toBeNull();
  });

  it("takes its own counter, else the session's; one that always gives the whole leaves the smallest tail", async () => {
    const asked: number[] = [];
    const { compact } = compactor({
      tailTokenBudget: 50,
      tokenCounter: (messages) => asked.push(messages.length) && 10
    });
    expect(await compact(list(12), { tokenCounter: () => 1_000 })).toMatchObject({ toMessageId: "m6" });
    expect(new Set(asked)).toEqual(new Set([1]));
    const whole = compactor({ tailTokenBudget: 50 });
    expect(await whole.compact(list(12), { tokenCounter: () => 1_000 })).toMatchObject({ toMessageId: "m9" });
  });

  it("updates the summary there is, covers it, and names only real messages", async () => {
    const { compact, prompts } = compactor();
    const summary = { id: "compaction_1", role: "assistant", parts: [{ type: "text", text: "what was before" }] };
    const messages = [...list(2), summary, ...list(10).slice(4)];
    expect(await compact(messages)).toEqual({ fromMessageId: "m4", toMessageId: "m7", summary: "summary 1" });
    expect(prompts[0]).toContain("what was before");
    expect(prompts[0]).toMatch(/Update the summary/);
    // Between a summary and the end of the head nothing may be left out of the next summary.
    const wideHead = compactor({ protectHead: 4 });
    expect(await wideHead.compact(messages)).toMatchObject({ fromMessageId: "m4" });
    const onlySummary = [...list(3), summary, ...list(10).slice(8)];
    expect(await compact(onlySummary)).toBeNull();
  });

  it("stops before a call that waits for its result", async () => {
    const messages = list(10);
    messages[5]!.parts.push({ type: "tool-ask", toolCallId: "c", state: "approval-requested", input: {} });
    expect(await compactor().compact(messages)).toMatchObject({ fromMessageId: "m3", toMessageId: "m4" });
    messages[3]!.parts.push({ type: "tool-ask", toolCallId: "d", state: "input-available", input: {} });
    expect(await compactor().compact(messages)).toBeNull();
  });

  it("makes nothing of a blank summary, and lets a failure through", async () => {
    expect(await compactor({ summarize: async () => " \n" }).compact(list(10))).toBeNull();
    const failing = compactor({ summarize: () => Promise.reject(new Error("no model")) });
    await expect(failing.compact(list(10))).rejects.toThrow("no model");
  });

  it("gives more than fits into one question in several, each with the summary so far", async () => {
    const { compact, prompts } = compactor({ maxSummaryInputTokens: 2_000 });
    const messages = list(60, 100);
    const compacted = await compact(messages);
    expect(prompts.length).toBeGreaterThan(3);
    expect(compacted).toEqual({ fromMessageId: "m3", toMessageId: "m57", summary: `summary ${prompts.length}` });
    prompts.forEach((prompt, index) => {
      expect(estimateStringTokens(prompt)).toBeLessThanOrEqual(2_000);
      if (index > 0) expect(prompt).toContain(`summary ${index}`);
    });
    for (let index = 3; index <= 57; index += 1) expect(prompts.join()).toContain(`word${index} `);
  });

  it("ends after its last question with what it has read until then", async () => {
    const { compact, prompts } = compactor({ maxSummaryInputTokens: 600 });
    const compacted = await compact(list(200, 50));
    expect(prompts).toHaveLength(MAX_SUMMARY_STEPS);
    const last = Number(compacted?.toMessageId.slice(1));
    expect(last).toBeGreaterThan(3);
    expect(last).toBeLessThan(197);
    expect(prompts.join()).toContain(`word${last} `);
  });
});

test("a message longer than a question is split, and nothing of it is lost", () => {
  for (const letters of [
    "abcdefghij ".repeat(4_000),
    "你好世界".repeat(4_000),
    "a ".repeat(9_000),
    "😀".repeat(5_000)
  ]) {
    const chunks = chunksOf([text("m", "user", letters)], 1_000, 0);
    expect(chunks.length).toBeGreaterThan(1);
    for (const { excerpt } of chunks) expect(estimateStringTokens(excerpt)).toBeLessThanOrEqual(1_000);
    // Pieces of one message are paragraphs of a question. Compared here, for a difference would be printed whole.
    const joined = chunks.map(({ excerpt }) => excerpt.replaceAll("\n\n", "")).join("");
    expect(joined === `[user]\n${letters}`).toBe(true);
    expect(chunks.map(({ complete }) => complete)).toEqual([...chunks.slice(1).map(() => 0), 1]);
  }
});

describe("the question", () => {
  const tool = {
    id: "a",
    role: "assistant",
    parts: [
      {
        type: "tool-weather",
        toolCallId: "c1",
        state: "output-available",
        input: { city: "Oslo" },
        output: { sky: "grey" }
      },
      { type: "dynamic-tool", toolName: "fetch", toolCallId: "c2", input: "x".repeat(600), errorText: "broken" }
    ]
  };

  it("names tools by their type, and shows inputs and results as JSON of at most 500 characters", () => {
    const prompt = buildSummaryPrompt([text("u", "user", "hello"), tool], null, 250);
    expect(prompt).toContain("[user]\nhello");
    expect(prompt).toContain('(tool weather)\ninput: {"city":"Oslo"}\noutput: {"sky":"grey"}');
    expect(prompt).toContain(`(tool fetch)\ninput: ${"x".repeat(500)}…\noutput: broken`);
    expect(prompt).not.toContain("x".repeat(501));
    expect(prompt).not.toMatch(/unknown|\[object Object\]/);
    for (const section of ["Topic", "Key Points", "Current State", "Open Items", "250 tokens"]) {
      expect(prompt).toContain(section);
    }
    expect(prompt).not.toContain("previous");
  });

  it("quotes the previous summary and asks for an update", () => {
    const prompt = buildSummaryPrompt([tool], "what was before", 100);
    expect(prompt).toContain("<previous-summary>\nwhat was before\n</previous-summary>");
  });

  it("asks for a fifth of what is summarized, and at least 100 tokens", () => {
    expect(computeSummaryBudget(list(2))).toBe(100);
    const messages = list(50, 100);
    expect(computeSummaryBudget(messages)).toBe(Math.floor(estimateMessageTokens(messages) * 0.2));
  });
});
