// An MCP server behind OAuth on real ports of this machine: one for the server, one for its login.
import { z } from "zod";
import { ProtectedMcp } from "../../../src/features/mcp/oauth-server.test-support.ts";
import { textResult } from "../../../src/features/mcp/raw-mcp.test-support.ts";
import { serveMcp } from "../../../src/features/mcp/served-mcp.test-support.ts";
import { listen } from "./http-server.ts";

export async function serveProtected(): Promise<{ mcpUrl: string; server: ProtectedMcp }> {
  const [resource, login] = [await listen(), await listen()];
  const served = serveMcp((server) => {
    const about = { inputSchema: z.object({}), annotations: { readOnlyHint: true } };
    server.registerTool("whoami", about, () => textResult("you"));
  });
  const mcpUrl = `${resource.origin}/mcp`;
  const server = new ProtectedMcp({ mcpUrl, loginOrigin: login.origin, mcp: served.handler });
  resource.handle(server.resource);
  login.handle(server.login);
  return { mcpUrl, server };
}
