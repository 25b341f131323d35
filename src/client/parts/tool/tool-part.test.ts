// The helpers for tool parts, over every state a part can have.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { getToolApproval, getToolInput, getToolName, getToolOutput, getToolState, type ToolPart } from "./tool-part.ts";

const base = { type: "tool-pay", toolCallId: "c", input: { to: "Ada" } };
const part = (rest: Partial<ToolPart> & Pick<ToolPart, "state">): ToolPart => ({ ...base, ...rest });
const parked = part({ state: "output-available", output: { status: "paused", executionId: "e" } });

test.each<[string, ToolPart, ReturnType<typeof getToolState>]>([
  ["its input is being written", part({ state: "input-streaming" }), "preparing"],
  ["it runs", part({ state: "input-available" }), "running"],
  ["it reports progress", part({ state: "output-available", preliminary: true, output: { progress: 0.5 } }), "running"],
  ["it asks first", part({ state: "approval-requested" }), "waiting"],
  ["it is parked", parked, "waiting"],
  ["it was approved", part({ state: "approval-responded", approval: { approved: true } }), "running"],
  ["it was rejected", part({ state: "approval-responded", approval: { approved: false } }), "refused"],
  ["the SDK denied it", part({ state: "output-denied" }), "refused"],
  ["an action was rejected", part({ state: "output-available", output: { status: "rejected" } }), "refused"],
  ["its question expired", part({ state: "output-available", output: { status: "expired" } }), "refused"],
  ["it threw", part({ state: "output-error", errorText: "No." }), "failed"],
  ["an action returned an error", part({ state: "output-available", output: { error: { message: "No." } } }), "failed"],
  ["it returned", part({ state: "output-available", output: 4 }), "done"],
  ["it returned nothing", part({ state: "output-available" }), "done"]
])("%s: %o", (_name, given, state) => {
  expect(getToolState(given)).toBe(state);
});

test("input and output are there when they mean something, and not before", () => {
  expect(getToolInput(part({ state: "input-streaming" }))).toBeUndefined();
  expect(getToolInput(part({ state: "input-available" }))).toEqual({ to: "Ada" });
  expect(getToolOutput(part({ state: "output-available", output: 4 }))).toBe(4);
  expect(getToolOutput(parked)).toBeUndefined();
  expect(getToolOutput(part({ state: "output-error", output: 4 }))).toBeUndefined();
});

test("a question names what is decided: its own pending approval, and no other call's", () => {
  const asked = { callId: "c", executionId: "e", toolName: "pay", input: {} };
  const other = { ...asked, callId: "other" };
  const question = getToolApproval({ ...parked, approvalDescriptor: { summary: "Pay Ada", risk: "high" } }, [
    other,
    asked
  ]);
  expect(question).toEqual({ summary: "Pay Ada", risk: "high", input: { to: "Ada" }, isParked: true, asked });
  expect(getToolApproval(parked, [other])).toMatchObject({ summary: "Run pay", asked: undefined });
  expect(getToolApproval(part({ state: "output-available", output: 4 }), [asked])).toBeUndefined();
});

test("a tool is called by its MCP server's name for it", () => {
  const toolMetadata = { mcp: { serverName: "files", toolName: "read" } };
  expect(getToolName({ ...parked, type: "dynamic-tool", toolName: "tool_ab12_read", toolMetadata })).toBe("read");
  expect(getToolName({ ...parked, type: "dynamic-tool", toolName: "search" })).toBe("search");
});

test("whatever comes over the wire in a part, the helpers answer and do not throw", () => {
  const states = fc.constantFrom<ToolPart["state"]>(
    "input-streaming",
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-error",
    "output-denied"
  );
  const hostile = fc.record(
    {
      state: states,
      input: fc.anything(),
      output: fc.anything(),
      approvalDescriptor: fc.anything(),
      toolMetadata: fc.anything()
    },
    { requiredKeys: ["state"] }
  );
  fc.assert(
    fc.property(hostile, (rest) => {
      const given = part(rest);
      expect(["preparing", "running", "waiting", "done", "failed", "refused"]).toContain(getToolState(given));
      expect(typeof getToolName(given)).toBe("string");
      getToolOutput(given);
      expect(typeof (getToolApproval(given, [])?.summary ?? "")).toBe("string");
    }),
    { numRuns: 300 }
  );
});
