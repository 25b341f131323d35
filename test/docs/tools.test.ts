// The examples of docs/tools.md.
import { afterEach, expect, test, vi } from "vitest";
import { createScript, createTestHost, reply, scriptedModel, text, toolCall } from "everthink/testing";
import { rawMcp, textResult } from "../../src/features/mcp/raw-mcp.test-support.ts";
import { someServers } from "../node/discovery-kit.ts";
import { user } from "../kit/messages.ts";
import { toolNames } from "../kit/prompts.ts";
import { Cashier } from "./examples/tools-kept.ts";
import { Operator } from "./examples/tools.ts";

afterEach(() => vi.restoreAllMocks());

const SERVED: Readonly<Record<string, string>> = { code: "github", shop: "shopify", mail: "gmail" };
const send = { name: "send", description: "Sends a mail.", inputSchema: { type: "object" } };

function serve() {
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
    const id = new URL(String(url)).hostname.split(".")[0] ?? "";
    const tools = someServers(SERVED[id] ?? "").flatMap((server) => server.tools);
    const handler = rawMcp({
      "tools/list": () => ({ tools: id === "mail" ? [...tools, send] : tools }),
      "tools/call": () => textResult("done")
    });
    return handler(new Request(url as URL, init));
  });
}

test("the first example finds one of 151 tools and calls it", async () => {
  serve();
  const script = createScript([
    reply(toolCall("search_tools", { query: "create GitHub issue" })),
    reply(toolCall("tool_code_create_issue", { title: "Login fails" })),
    reply(text("Done."))
  ]);
  class Scripted extends Operator {
    override getModel() {
      return scriptedModel(script);
    }
  }
  const host = createTestHost({ agents: { Scripted } });
  const agent = await host.get(Scripted, "a");
  await agent.saveMessages([user("u", "File a bug.")]);
  expect(toolNames(script.calls[0])).not.toContain("tool_code_create_issue");
  expect(toolNames(script.calls[0])).toContain("search_tools");
  expect(toolNames(script.calls[1])).toContain("tool_code_create_issue");
  expect(JSON.stringify(script.calls[2]?.prompt)).toContain("done");
});

test("the second example describes what it keeps, and says what the rest would cost", async () => {
  serve();
  const script = createScript([reply(text("Done."))]);
  class Scripted extends Cashier {
    override getModel() {
      return scriptedModel(script);
    }
  }
  const host = createTestHost({ agents: { Scripted } });
  const agent = await host.get(Scripted, "a");
  await agent.saveMessages([user("u", "Hello.")]);
  const names = toolNames(script.calls[0]);
  expect(names).toContain("tool_mail_send");
  expect(names.filter((name) => name.startsWith("tool_shop_"))).toHaveLength(50);
  expect(names.filter((name) => name.startsWith("tool_code_"))).toEqual([]);
  expect(await agent.promptCosts()).toMatch(/^\d+ tokens instead of \d+$/);
});
