import { describe, expect, test } from "vitest";
import type { ModelPart } from "./coalesce.ts";
import { CallRedirects, orderedTools, type OfferedTools } from "./offered-tools.ts";

const offered: OfferedTools = {
  names: () => ["find"],
  redirect: (toolName) => (toolName === "hidden" ? { toolName: "find", input: { tool: toolName } } : undefined)
};
/** Parts have fields of their own. */
const part = (type: string, fields: object): ModelPart => ({ type, ...fields });
const rewritten = (...parts: ModelPart[]) => {
  const redirects = new CallRedirects(offered);
  return parts.flatMap((one) => redirects.apply(one));
};

test("tools are sent in the order in which they are offered, others in front", () => {
  const tools = ["c", "x", "a", "b"].map((name) => ({ name }));
  expect(orderedTools(tools, ["a", "b", "c"]).map(({ name }) => name)).toEqual(["x", "a", "b", "c"]);
});

describe("a call of a tool that is not offered", () => {
  test("streams as the call that takes its place, and nothing of its own input is left", () => {
    const parts = rewritten(
      part("tool-input-start", { id: "1", toolName: "hidden" }),
      part("tool-input-delta", { id: "1", delta: '{"secret"' }),
      part("tool-input-delta", { id: "1", delta: ":1}" }),
      part("tool-input-end", { id: "1" }),
      part("tool-call", { toolCallId: "1", toolName: "hidden", input: '{"secret":1}' })
    );
    const input = '{"tool":"hidden"}';
    expect(parts).toEqual([
      part("tool-input-start", { id: "1", toolName: "find" }),
      part("tool-input-delta", { id: "1", delta: input }),
      part("tool-input-end", { id: "1" }),
      part("tool-call", { toolCallId: "1", toolName: "find", input })
    ]);
  });

  test("that comes whole is rewritten whole, also when its input is no JSON", () => {
    expect(rewritten(part("tool-call", { toolCallId: "1", toolName: "hidden", input: '{"bro' }))).toEqual([
      part("tool-call", { toolCallId: "1", toolName: "find", input: '{"tool":"hidden"}' })
    ]);
  });

  test("leaves other parts as they are, between its own too", () => {
    const others = [
      part("tool-input-start", { id: "2", toolName: "find" }),
      part("tool-input-delta", { id: "2", delta: "{}" }),
      part("tool-input-end", { id: "2" }),
      part("tool-call", { toolCallId: "2", toolName: "find", input: "{}" }),
      part("text-delta", { id: "hidden", delta: "hidden" }),
      part("tool-call", { toolCallId: "3", toolName: "hidden", input: "{}", providerExecuted: true }),
      part("finish", {})
    ];
    const redirects = new CallRedirects(offered);
    redirects.apply(part("tool-input-start", { id: "1", toolName: "hidden" }));
    expect(others.flatMap((one) => redirects.apply(one))).toEqual(others);
  });
});
