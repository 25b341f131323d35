// How much one run of a script may ask of the agent, whatever it is allowed to reach.
import { tool } from "ai";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { Capabilities, type CapabilityOptions } from "./capabilities.ts";

const LIMIT = 10 * 1024 * 1024;

async function open(options: CapabilityOptions) {
  return await Capabilities.open(options, {
    toolCallId: "c",
    messages: [{ role: "user", content: "hello" }],
    signal: new AbortController().signal
  });
}

function workspaceOf(sizeBytes: number) {
  const [readFile, writeFile] = [vi.fn(() => "text"), vi.fn()];
  const info = { path: "/f", name: "f", type: "file" as const, mimeType: "text/plain", createdAt: 0, updatedAt: 0 };
  const stat = () => ({ ...info, size: sizeBytes });
  return { readFile, writeFile, readDir: () => [], glob: () => [], stat };
}

test("a file of the workspace of more than 10 MB is not read", async () => {
  const [small, large] = [workspaceOf(LIMIT), workspaceOf(LIMIT + 1)];
  expect(await (await open({ workspaceInstance: small })).readFile("/f")).toBe("text");
  await expect((await open({ workspaceInstance: large })).readFile("/f")).rejects.toThrow(`at most ${LIMIT} are read`);
  expect(large.readFile).not.toHaveBeenCalled();
});

test("nor is more than that written", async () => {
  const workspaceInstance = workspaceOf(0);
  const capabilities = await open({ workspaceInstance, workspace: "read-write" });
  await capabilities.writeFile("/f", "x".repeat(LIMIT));
  await expect(capabilities.writeFile("/f", "x".repeat(LIMIT + 1))).rejects.toThrow(`At most ${LIMIT} bytes`);
  expect(workspaceInstance.writeFile).toHaveBeenCalledTimes(1);
});

test("nothing is answered after the run, and not more than 1,000 calls in it", async () => {
  const capabilities = await open({ workspaceInstance: workspaceOf(1) });
  for (let n = 0; n < 1_000; n++) await capabilities.stat("/f");
  await expect(capabilities.stat("/f")).rejects.toThrow("at most 1000 calls");
  const over = await open({ workspaceInstance: workspaceOf(1) });
  over.close();
  await expect(over.stat("/f")).rejects.toThrow("has ended");
  expect(() => over.writeOutput("a", "x")).toThrow("has ended");
});

test("a tool is given the call it belongs to, and of what it yields the last counts", async () => {
  const seen: unknown[] = [];
  const counting = tool({
    inputSchema: z.object({}),
    async *execute(_input, { toolCallId, messages, abortSignal }) {
      seen.push(toolCallId, messages.length, abortSignal instanceof AbortSignal);
      yield 1;
      yield 2;
    }
  });
  expect(await (await open({ tools: { counting } })).callTool("counting", {})).toBe(2);
  expect(seen).toEqual(["c", 1, true]);
});
