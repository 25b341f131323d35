import { describe, expect, test } from "vitest";
import {
  CAPABILITY_SENTINEL,
  capabilityBlock,
  DEFAULT_SYSTEM_PROMPT,
  promptSections,
  renderPrompt,
  withCapabilitySection,
  type PromptInput
} from "./prompt.ts";
import type { ToolLayerName } from "../feature/tool-layers.ts";

const base = () => "Base.";
const names = (input: PromptInput) => promptSections(input).map(({ name }) => name);
const exposed = (tools: Record<string, ToolLayerName>) => new Map(Object.entries(tools));

describe("sections of the prompt", () => {
  test.each<[string, PromptInput, string[]]>([
    ["only a base", { base }, ["base"]],
    ["a channel speaks first", { base, channelInstructions: "Be brief." }, ["channel", "base"]],
    ["blocks of features add", { base, session: { text: "Skills.", replacesBase: false } }, ["base", "context"]],
    ["the user's blocks replace", { base, session: { text: "Soul.", replacesBase: true } }, ["context"]],
    ["blocks that render to nothing replace nothing", { base, session: { text: "", replacesBase: true } }, ["base"]],
    ["an empty base is no section", { base: () => "" }, []]
  ])("%s", (_promise, input, expected) => {
    expect(names(input)).toEqual(expected);
  });

  test("getSystemPrompt is not called when it is not used", () => {
    const unused = () => {
      throw new Error("called");
    };
    expect(names({ base: unused, session: { text: "Soul.", replacesBase: true } })).toEqual(["context"]);
  });

  test("are set apart by blank lines, with the capability block last", () => {
    const sections = promptSections({ base, channelInstructions: "Be brief." });
    const prompt = renderPrompt(withCapabilitySection(sections, exposed({})));
    expect(prompt.startsWith(`Be brief.\n\nBase.\n\n${CAPABILITY_SENTINEL}\n`)).toBe(true);
  });

  test("the default prompt is a prompt", () => {
    expect(DEFAULT_SYSTEM_PROMPT.split("\n").length).toBeGreaterThan(3);
  });
});

describe("the capability block", () => {
  const FILES = "files in the workspace";
  const TOOLS = "Use a tool when it helps";
  const REACH = "Your tools may reach";
  const CONTEXT = "Load the memory";
  const EXTENSIONS = "Turn to extensions only";
  const EXECUTE = "sandboxed execution";
  const HONEST = "Do not claim abilities";
  const ALL = [FILES, TOOLS, REACH, CONTEXT, EXTENSIONS, EXECUTE, HONEST];

  test.each<[string, Record<string, ToolLayerName>, string[]]>([
    ["no tools", {}, [HONEST]],
    ...["read", "write", "edit", "list", "find", "grep", "delete"].map(
      (name): [string, Record<string, ToolLayerName>, string[]] => [
        name,
        { [name]: "workspace" },
        [FILES, TOOLS, REACH, HONEST]
      ]
    ),
    ["any other tool", { weather: "tools" }, [TOOLS, REACH, HONEST]],
    ["load_context", { load_context: "context" }, [TOOLS, REACH, CONTEXT, HONEST]],
    ["unload_context", { unload_context: "context" }, [TOOLS, REACH, CONTEXT, HONEST]],
    ["load_extension", { load_extension: "tools" }, [TOOLS, REACH, EXTENSIONS, HONEST]],
    ["list_extensions", { list_extensions: "tools" }, [TOOLS, REACH, EXTENSIONS, HONEST]],
    ["execute", { execute: "tools" }, [TOOLS, REACH, EXECUTE, HONEST]]
  ])("%s", (_tools, tools, expected) => {
    const block = capabilityBlock(exposed(tools));
    expect(ALL.filter((text) => block.includes(text))).toEqual(expected);
    expect(
      block
        .split("\n")
        .slice(2)
        .every((line) => line.startsWith("- "))
    ).toBe(true);
    expect(block.split("\n").at(-1)).toContain(HONEST);
  });

  test.each<[Record<string, ToolLayerName>, string]>([
    [{ a: "tools", b: "workspace" }, "code on the server."],
    [{ a: "client" }, "the user's browser."],
    [{ a: "mcp" }, "MCP servers."],
    [{ a: "extensions", b: "client" }, "the user's browser and extensions."],
    [{ a: "mcp", b: "client", c: "tools" }, "code on the server, the user's browser and MCP servers."]
  ])("names a kind of tool only if there is one: %j", (tools, reach) => {
    expect(capabilityBlock(exposed(tools))).toContain(`Your tools may reach ${reach}`);
  });

  test("is not added to a prompt that has it, or that has its first line to keep it out", () => {
    const once = withCapabilitySection(promptSections({ base }), exposed({ a: "tools" }));
    expect(withCapabilitySection(once, exposed({ a: "tools", b: "mcp" }))).toEqual(once);
    const without = promptSections({ base: () => `Mine.\n${CAPABILITY_SENTINEL}` });
    expect(withCapabilitySection(without, exposed({ a: "tools" }))).toEqual(without);
  });
});
