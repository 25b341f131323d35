// The MCP client inside workerd, where nothing may generate code at run time. What servers and clients promise each other
// is tested in src/mcp, in Node.
import { expect, test } from "vitest";
import { z } from "zod";
import { openSql } from "../../src/host/sql.ts";
import { openProtocol } from "../../src/features/mcp/protocol.ts";
import { McpManager } from "../../src/features/mcp/manager.ts";
import { serveMcp } from "../../src/features/mcp/served-mcp.test-support.ts";
import { McpStore } from "../../src/features/mcp/server-store.ts";
import { env, inside, rawStub, uniqueName } from "./world.ts";

function weather() {
  return serveMcp((server) => {
    server.registerTool(
      "forecast",
      {
        inputSchema: z.object({ city: z.string() }),
        outputSchema: z.object({ degrees: z.number() })
      },
      ({ city }) => {
        const structuredContent = { degrees: city === "Lyon" ? 21 : 12 };
        return { structuredContent, content: [{ type: "text", text: JSON.stringify(structuredContent) }] };
      }
    );
    server.registerResource("about", "about://us", {}, () => ({ contents: [{ uri: "about://us", text: "We are." }] }));
  });
}

test("an agent in workerd connects, lists, calls tools with an output schema, reads resources and resumes its session", async () => {
  const served = weather();
  const stub = rawStub(env.Room, uniqueName());
  await inside(stub, async (_room, state) => {
    const open = () =>
      new McpManager({
        store: new McpStore(openSql(state.storage)),
        clock: { now: () => Date.now(), sleep: () => new Promise(() => undefined) },
        ids: { next: () => crypto.randomUUID().slice(0, 21), random: () => 0 },
        fetch: async (url, init) => served.handler(new Request(url, init)),
        loadProtocol: openProtocol,
        emit: () => undefined,
        warn: () => undefined,
        background: () => undefined
      });
    const manager = open();
    const { id } = await manager.addServer("weather", "https://weather.example.com/mcp", { id: "weather" });
    const call = { serverId: id, name: "forecast" };
    expect(await manager.callTool({ ...call, arguments: { city: "Lyon" } })).toMatchObject({
      structuredContent: { degrees: 21 }
    });
    expect(await manager.readResource({ serverId: id, uri: "about://us" })).toMatchObject({
      contents: [{ text: "We are." }]
    });
    const restarted = open();
    expect(await restarted.connectToServer(id)).toEqual({ state: "ready" });
    expect(served.servers.size).toBe(1);
    expect(await restarted.callTool({ ...call, arguments: { city: "Lyon" } })).toMatchObject({
      structuredContent: { degrees: 21 }
    });
  });
});
