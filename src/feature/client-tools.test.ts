import { asSchema } from "ai";
import { describe, expect, test } from "vitest";
import { clientToolSet, parseClientTools, type ClientToolSchema } from "./client-tools.ts";

describe("client tools", () => {
  test("a description becomes a tool that the server does not run", async () => {
    const { tools } = clientToolSet(parseClientTools([{ name: "a" }]));
    expect(tools["a"]).toMatchObject({ description: "" });
    expect(tools["a"]).not.toHaveProperty("execute");
    expect(await asSchema(tools["a"]?.inputSchema).jsonSchema).toEqual({ type: "object" });
  });

  test("its schema is what the model is shown", async () => {
    const parameters = { type: "object", properties: { x: { type: "number" } } };
    const { tools } = clientToolSet(parseClientTools([{ name: "a", description: "A.", parameters }]));
    expect(tools["a"]?.description).toBe("A.");
    expect(await asSchema(tools["a"]?.inputSchema).jsonSchema).toEqual(parameters);
  });

  test("of two descriptions of a name the last counts, and the name is reported", () => {
    const { tools, duplicates } = clientToolSet(
      parseClientTools([{ name: "a", description: "one" }, { name: "b" }, { name: "a", description: "two" }])
    );
    expect(tools["a"]?.description).toBe("two");
    expect(duplicates).toEqual(["a"]);
  });

  test("an executor is asked with name, input and call id; what it throws is the tool's error", async () => {
    const calls: unknown[] = [];
    const { tools } = clientToolSet(parseClientTools([{ name: "a" }]), (call) => {
      calls.push(call);
      if (calls.length > 1) throw new Error("gone");
      return "done";
    });
    const options = { toolCallId: "c1", messages: [], context: undefined };
    expect(await tools["a"]?.execute?.({ x: 1 }, options)).toBe("done");
    expect(calls).toEqual([{ toolName: "a", input: { x: 1 }, toolCallId: "c1" }]);
    await expect(tools["a"]?.execute?.({}, options)).rejects.toThrow("gone");
  });

  test.each<[unknown]>([
    [null],
    ["a"],
    [{}],
    [{ name: "" }],
    [{ name: "__proto__" }],
    [{ name: "x".repeat(129) }],
    [{ name: "a", parameters: "no" }]
  ])("%j is refused", (schema) => {
    expect(() => parseClientTools([schema as ClientToolSchema])).toThrow(/could not be accepted/);
  });
});
