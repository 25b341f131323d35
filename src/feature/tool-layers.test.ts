import { tool, type ToolSet } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { mergeToolLayers, TOOL_LAYERS, type ToolLayer, type ToolLayerName } from "./tool-layers.ts";

const named = (description: string) => tool({ description, inputSchema: z.object({}) });
const layer = (name: ToolLayerName, ...tools: string[]): ToolLayer => ({
  name,
  tools: Object.fromEntries(tools.map((toolName) => [toolName, named(name)]))
});
const ALLOWED = { clientOverrides: true };
const origins = (tools: ToolSet) =>
  Object.fromEntries(Object.entries(tools).map(([name, { description }]) => [name, description]));

describe("merging tool layers", () => {
  test("every later layer wins over every earlier one, in whatever order they are given", () => {
    for (const [index, loser] of TOOL_LAYERS.entries()) {
      for (const winner of TOOL_LAYERS.slice(index + 1)) {
        if ((loser === "actions" && winner === "client") || winner === "extensions") continue;
        const merged = mergeToolLayers([layer(winner, "a"), layer(loser, "a")], ALLOWED);
        expect(origins(merged.tools)).toEqual({ a: winner });
        expect(merged.collisions).toEqual([{ toolName: "a", winner, loser }]);
      }
    }
  });

  test("an extension's tool never takes the place of the class's own, of an action or of a file tool", () => {
    for (const earlier of ["workspace", "tools", "actions"] as const) {
      const merged = mergeToolLayers([layer("extensions", "a", "b"), layer(earlier, "a")], ALLOWED);
      expect(origins(merged.tools)).toEqual({ a: earlier, b: "extensions" });
      expect(merged.collisions).toEqual([{ toolName: "a", winner: earlier, loser: "extensions" }]);
    }
  });

  test("a client's tool never takes the place of an action, whatever the class allows", () => {
    for (const clientOverrides of [true, false]) {
      const merged = mergeToolLayers([layer("client", "a"), layer("actions", "a")], { clientOverrides });
      expect(origins(merged.tools)).toEqual({ a: "actions" });
      expect(merged.collisions).toEqual([{ toolName: "a", winner: "actions", loser: "client" }]);
    }
  });

  test("a name keeps the place it first had", () => {
    const merged = mergeToolLayers([layer("tools", "a", "b"), layer("mcp", "c", "a")], ALLOWED);
    expect(Object.keys(merged.tools)).toEqual(["a", "b", "c"]);
    expect(merged.layerOf.get("a")).toBe("mcp");
  });

  test("a client's tool gives way when the class says so, and only the client's", () => {
    const layers = [layer("tools", "a"), layer("client", "a", "b"), layer("turn", "a", "b")];
    const merged = mergeToolLayers(layers.slice(0, 2), { clientOverrides: false });
    expect(origins(merged.tools)).toEqual({ a: "tools", b: "client" });
    expect(merged.collisions).toEqual([{ toolName: "a", winner: "tools", loser: "client" }]);
    expect(origins(mergeToolLayers(layers, { clientOverrides: false }).tools)).toEqual({ a: "turn", b: "turn" });
  });

  test("a tool that is undefined is not there", () => {
    // What `{ a: isAllowed ? tool : undefined }` gives.
    const tools = { a: undefined } as never as ToolSet;
    expect(mergeToolLayers([layer("tools", "a"), { name: "turn", tools }], ALLOWED).layerOf.get("a")).toBe("tools");
  });

  test("names of the language's own objects are names like any other", () => {
    const tools = Object.fromEntries(["constructor", "toString", "__proto__"].map((name) => [name, named(name)]));
    const merged = mergeToolLayers([{ name: "tools", tools }], ALLOWED);
    expect(Object.keys(merged.tools)).toEqual(["constructor", "toString", "__proto__"]);
    expect(Object.getPrototypeOf(merged.tools)).toBe(Object.prototype);
  });

  test("tools and their layers always go together, and nothing is lost", () => {
    const layers = fc.array(
      fc.record({ name: fc.constantFrom(...TOOL_LAYERS), names: fc.array(fc.constantFrom("a", "b", "c", "d")) })
    );
    fc.assert(
      fc.property(layers, fc.boolean(), (given, clientOverrides) => {
        const merged = mergeToolLayers(
          given.map(({ name, names }) => layer(name, ...names)),
          { clientOverrides }
        );
        expect(origins(merged.tools)).toEqual(Object.fromEntries(merged.layerOf));
        expect(new Set(Object.keys(merged.tools))).toEqual(new Set(given.flatMap(({ names }) => names)));
      })
    );
  });
});
