import { asSchema } from "ai";
import { describe, expect, test } from "vitest";
import { truncateOldMessages } from "../model/index.ts";
import type { ContextTools } from "../session/context/tools.ts";
import type { PromptBlock } from "../session/context/render.ts";
import { engineTurn } from "./overrides.test-support.ts";
import { contextPrompt, contextFeature, keptDocument } from "./context-tools.ts";
import { explainPrompt, promptSections, renderPrompt, withCapabilitySection } from "./prompt.ts";

const block = (label: string, text: string, isDeclared = true): PromptBlock => ({ label, text, isDeclared });
const sessionOf = (blocks: PromptBlock[], tools: ContextTools = {}) => ({
  promptSections: async () => blocks,
  tools: async () => tools
});

describe("context tools in a turn", () => {
  test("are tools of the SDK with the schema and the answer of the session's", async () => {
    const inputSchema = { type: "object", properties: { label: { type: "string", enum: ["memory"] } } };
    const described = {
      description: "Writes.",
      inputSchema,
      execute: async (input: unknown) => `got ${String(input)}`
    };
    const source = contextFeature(sessionOf([], { set_context: described }));
    const { set_context } = (await source.inTurn?.(engineTurn()))?.tools?.context ?? {};
    expect(set_context?.description).toBe("Writes.");
    expect(await asSchema(set_context?.inputSchema).jsonSchema).toEqual(inputSchema);
    expect(await set_context?.execute?.("x", { toolCallId: "c", messages: [], context: undefined })).toBe("got x");
  });

  test("a loaded document stays whole in old messages, a refusal does not take its place", () => {
    const input = { label: "skills", key: "a" };
    const load = (id: string, output: string) => ({
      id,
      role: "assistant" as const,
      parts: [{ type: "tool-load_context" as const, toolCallId: id, state: "output-available" as const, input, output }]
    });
    const document = "d".repeat(5_000);
    const refused = `Error: "a" of "skills" was not loaded: ${"x".repeat(600)}`;
    const history = [load("1", "older copy ".repeat(500)), load("2", document), load("3", refused)];
    const shown = truncateOldMessages(history, { keepRecent: 0, step: 1, keepOutput: keptDocument });
    const outputs = shown.map(({ parts: [part] }) => (part && "output" in part ? String(part.output).length : 0));
    expect(outputs[0]).toBeLessThanOrEqual(500);
    expect(outputs[1]).toBe(5_000);
    expect(outputs[2]).toBeLessThanOrEqual(500);
    expect(keptDocument({ toolName: "read", input, output: "" })).toBeUndefined();
    expect(keptDocument({ toolName: "load_context", input: {}, output: "" })).toBeUndefined();
  });
});

describe("the prompt of the blocks", () => {
  test.each<[string, PromptBlock[], boolean | undefined]>([
    ["no blocks", [], undefined],
    ["the user's blocks", [block("soul", "Be kind.")], true],
    ["blocks of features", [block("think_skills", "Skills.", false)], false],
    ["both", [block("soul", "Be kind."), block("think_skills", "Skills.", false)], true]
  ])("of %s", async (_name, blocks, replacesBase) => {
    const prompt = await contextPrompt(sessionOf(blocks));
    expect(prompt?.replacesBase).toBe(replacesBase);
    expect(prompt?.text ?? "").toBe(blocks.map(({ text }) => text).join("\n\n"));
  });
});

describe("an explanation of the prompt", () => {
  const tools = new Map([["set_context", "context"]] as const);

  test("lists every section with its size, and adds up to what the model is given", async () => {
    const session = await contextPrompt(sessionOf([block("a", "Ärger.", false), block("b", "B.", false)]));
    const input = { base: () => "Base.", channelInstructions: "Brief.", ...(session && { session }) };
    const { sections, text, sizeBytes, tokens } = explainPrompt(input, tools);
    expect(sections.map(({ name, label }) => label ?? name)).toEqual(["channel", "base", "a", "b", "capabilities"]);
    expect(sections.find(({ label }) => label === "a")).toEqual({
      name: "context",
      label: "a",
      text: "Ärger.",
      sizeBytes: 7,
      tokens: 2
    });
    expect(text).toBe(renderPrompt(withCapabilitySection(promptSections(input), tools)));
    expect(sections.map((section) => section.text).join("\n\n")).toBe(text);
    expect(sizeBytes).toBe(sections.reduce((sum, section) => sum + section.sizeBytes, 2 * (sections.length - 1)));
    expect(tokens).toBeGreaterThan(0);
  });

  test("shows the base prompt that the user's blocks took the place of", async () => {
    const session = await contextPrompt(sessionOf([block("soul", "Be kind.")]));
    const { sections, text } = explainPrompt({ base: () => "Base.", ...(session && { session }) }, tools);
    expect(sections[0]).toMatchObject({ name: "base", text: "Base.", replacedBy: "context" });
    expect(sections.filter(({ replacedBy }) => replacedBy !== undefined)).toHaveLength(1);
    expect(text).not.toContain("Base.");
  });

  test("without blocks has nothing replaced", () => {
    const { sections } = explainPrompt({ base: () => "Base." }, tools);
    expect(sections.map(({ name, replacedBy }) => [name, replacedBy])).toEqual([
      ["base", undefined],
      ["capabilities", undefined]
    ]);
  });
});
