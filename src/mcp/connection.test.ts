import { describe, expect, test } from "vitest";
import { z } from "zod";
import { McpWorld } from "./mcp-kit.test-support.ts";
import { serveMcp } from "./served-mcp.test-support.ts";

const URL_A = "https://a.example.com/mcp";

function arithmetic() {
  return serveMcp((server) => {
    server.registerTool(
      "add",
      { description: "Adds", inputSchema: z.object({ a: z.number(), b: z.number() }) },
      ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] })
    );
  });
}

describe("connecting", () => {
  test("a server that is added is ready, with its tools, instructions and capabilities", async () => {
    const world = new McpWorld();
    world.origins.set("https://a.example.com", arithmetic().handler);
    const added = await world.manager.addServer("a", URL_A);
    expect(added).toEqual({ id: expect.stringMatching(/^[a-z][a-z0-9]{7}$/), state: "ready" });
    const state = world.manager.state();
    expect(state.servers[added.id]).toMatchObject({ name: "a", state: "ready", instructions: "Be kind.", error: null });
    expect(state.tools).toMatchObject([{ name: "add", serverId: added.id, toolKey: `tool_${added.id}_add` }]);
    const result = await world.manager.callTool({ serverId: added.id, name: "add", arguments: { a: 2, b: 3 } });
    expect(result).toMatchObject({ content: [{ type: "text", text: "5" }] });
  });
});
