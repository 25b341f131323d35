// An MCP server of the official server package as a function from requests to responses, for tests in Node and workerd.
import { McpServer, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";

/** Answers the requests for one origin. */
export type Handler = (request: Request) => Response | Promise<Response>;

export interface ServedMcp {
  readonly handler: Handler;
  /** One per session. */
  readonly servers: Map<string, McpServer>;
  /** As a restart of the server: it knows no session any more. */
  forget(): void;
}

/** A server with sessions over streamable HTTP. `build` registers what it offers. */
export function serveMcp(build: (server: McpServer) => void, { unknownSession = 404 } = {}): ServedMcp {
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const servers = new Map<string, McpServer>();
  const open = async (): Promise<WebStandardStreamableHTTPServerTransport> => {
    const server = new McpServer({ name: "test-server", version: "1.0.0" }, { instructions: "Be kind." });
    build(server);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => {
        transports.set(id, transport);
        servers.set(id, server);
      },
      onsessionclosed: (id) => {
        transports.delete(id);
        servers.delete(id);
      }
    });
    await server.connect(transport);
    return transport;
  };
  return {
    servers,
    forget() {
      transports.clear();
      servers.clear();
    },
    handler: async (request) => {
      const session = request.headers.get("mcp-session-id");
      if (session === null) return (await open()).handleRequest(request);
      const transport = transports.get(session);
      if (transport !== undefined) return transport.handleRequest(request);
      const error = { code: -32001, message: "Session not found" };
      return Response.json({ jsonrpc: "2.0", error, id: null }, { status: unknownSession });
    }
  };
}
