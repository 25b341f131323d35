// The examples of docs/mcp.md, run against a server of the official package.
import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { createScript, createTestHost, reply, scriptedModel, text } from "everthink/testing";
import { textResult } from "../../src/features/mcp/raw-mcp.test-support.ts";
import { serveMcp } from "../../src/features/mcp/served-mcp.test-support.ts";
import { CarefulResearcher } from "./examples/mcp-approval.ts";
import { Indexer } from "./examples/mcp-plain.ts";
import { Redirecting, Researcher } from "./examples/mcp.ts";
import { user } from "../kit/messages.ts";

afterEach(() => vi.restoreAllMocks());

function serveDocs() {
  const served = serveMcp((server) => {
    const inputSchema = z.object({});
    server.registerTool("search", { inputSchema, annotations: { readOnlyHint: true } }, () => textResult("found"));
    server.registerTool("publish", { inputSchema }, () => textResult("published"));
  });
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => served.handler(new Request(url as URL, init)));
}

test("the first example has the server's tools in its turns", async () => {
  serveDocs();
  const script = createScript([reply(text("I looked it up."))]);
  class Scripted extends Researcher {
    override getModel() {
      return scriptedModel(script);
    }
  }
  const host = createTestHost({ agents: { Scripted } });
  const agent = await host.get(Scripted, "a");
  await agent.saveMessages([user("u", "Look it up.")]);
  const offered = script.calls[0]?.tools?.map(({ name }) => name);
  expect(offered).toEqual(expect.arrayContaining(["tool_docs_search", "tool_docs_publish"]));
});

test("an agent without a conversation calls a server's tool", async () => {
  serveDocs();
  const host = createTestHost({ agents: { Indexer } });
  expect(await (await host.get(Indexer, "a")).search("tides")).toMatchObject({ content: [{ text: "found" }] });
});

test("the policy lets what only reads run, asks for the rest, and hides other servers", () => {
  const policy = CarefulResearcher.prototype.mcpApproval;
  const tool = { serverId: "docs", serverName: "docs", name: "x", key: "tool_docs_x" };
  expect(policy({ ...tool, annotations: { readOnlyHint: true } })).toBe(false);
  expect(policy(tool)).toBe(true);
  expect(policy({ ...tool, serverId: "other" })).toBe("hide");
});

test("the redirects can be set when the agent starts", async () => {
  const host = createTestHost({ agents: { Redirecting } });
  expect(await (await host.get(Redirecting, "a")).getOnStartDegradations()).toEqual([]);
});
