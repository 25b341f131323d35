// Connectors say the types of their functions, as the model is shown them: those that are made of tools and of files too.
import { tool } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { createExecuteRuntime, ToolSetConnector } from "../../src/features/execute/index.ts";
import { Think } from "../../src/index.ts";
import { createScript, createTestHost, createTestLoader, scriptedModel } from "../../src/testing/index.ts";

const add = tool({
  description: "Adds two numbers.",
  inputSchema: z.object({ a: z.number(), b: z.number().optional() }),
  outputSchema: z.number(),
  execute: ({ a, b = 0 }) => a + b
});

class Coder extends Think<{ LOADER: ReturnType<typeof createTestLoader> }> {
  override getModel() {
    return scriptedModel(createScript([]));
  }

  async types(): Promise<string[]> {
    const { connectors } = createExecuteRuntime(this, { tools: { add, "get-user": add } });
    const types = await Promise.all(connectors.map((connector) => connector.getTypeScriptTypes?.()));
    return types.map(String);
  }
}

test("the connectors of a runtime say the types of its tools and of the agent's files", async () => {
  const host = createTestHost({ agents: { Coder }, env: { LOADER: createTestLoader() } });
  const [tools, state, ...others] = await (await host.get(Coder, "a")).types();
  expect(others).toEqual([]);
  expect(tools).toBe(
    [
      "declare const tools: {",
      "  /** Adds two numbers. */",
      "  add(args: { a: number; b?: number }): Promise<number>;",
      "  /** Adds two numbers. */",
      "  get_user(args: { a: number; b?: number }): Promise<number>;",
      "};"
    ].join("\n")
  );
  expect(state).toMatch(/^declare const state: \{\n/);
  expect(state).toContain(
    "  /** Text of a file; null if there is none. */\n  readFile(args: { path: string }): Promise<unknown>;"
  );
  expect(state).toContain("  writeFile(args: { path: string; content: string }): Promise<unknown>;");
  expect(state).toMatch(/\n {2}planEdits\(args: \{ edits: .*\n/);
});

test("a connector of tools says its types under the name it was given", async () => {
  const connector = new ToolSetConnector({ add }, undefined, "math");
  expect(await connector.getTypeScriptTypes()).toContain("declare const math: {");
});

test("types of tools that code could not tell apart are an error, as their calls would be", async () => {
  const connector = new ToolSetConnector({ "get-user": add, get_user: add });
  await expect(connector.getTypeScriptTypes()).rejects.toMatchObject({ code: "execute-definition" });
});
