// Tools of an MCP server as functions for code. An error that the server reports is thrown in the code.
import type { McpApproval, McpClients, McpToolInfo } from "../../mcp/index.ts";
import { toolInfo } from "../../mcp/tools.ts";
import { isObject, parseJson } from "../../../util/json.ts";
import { sanitizeToolName, type ConnectorContext, type ConnectorTool } from "../connector.ts";
import { ExecuteDefinitionError } from "../errors.ts";
import { CodemodeConnector } from "./codemode-connector.ts";
import { inlineRefs } from "./inline-refs.ts";
import type { MaybePromise } from "../../../util/maybe-promise.ts";

/** Pages of a list that are read. */
const MAX_PAGES = 20;
/** How long a server that is being connected is waited for. */
const CONNECT_TIMEOUT_MS = 10_000;

/** A tool as a server lists it. */
export interface McpToolListing {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  /** A tool that says it only reads, or is idempotent, is called again if the process died in the call. */
  readonly annotations?: { readonly readOnlyHint?: boolean; readonly idempotentHint?: boolean } | undefined;
}

/** What is used of a client of the package `@modelcontextprotocol/client`. */
export interface McpClientLike {
  listTools(params?: { cursor?: string }): Promise<{
    readonly tools: readonly McpToolListing[];
    readonly nextCursor?: string | undefined;
  }>;
  callTool(
    call: { name: string; arguments: Record<string, unknown> },
    options?: { signal?: AbortSignal }
  ): Promise<unknown>;
}

/** An agent of this package, as far as its MCP servers go. */
export interface McpAgentLike {
  readonly mcp: Pick<McpClients, "listTools" | "callTool" | "listServers" | "waitForConnections">;
  mcpApproval?(tool: McpToolInfo): McpApproval;
}

/** One server of an agent, by its id or its name; a client; or what holds one. */
export type McpConnectionLike =
  { readonly agent: McpAgentLike; readonly server: string } | McpClientLike | { readonly client: McpClientLike };

/**
 * The tools of an MCP server. For a server of the agent, what `mcpApproval` says about a tool holds in code too.
 *
 * @example
 * class Weather extends McpConnector {
 *   constructor(private agent: Assistant) {
 *     super();
 *   }
 *   name() {
 *     return "weather";
 *   }
 *   createConnection() {
 *     return { agent: this.agent, server: "weather" };
 *   }
 * }
 */
export abstract class McpConnector<Env = unknown> extends CodemodeConnector<Env> {
  /** Asked in every pass. */
  protected abstract createConnection(): MaybePromise<McpConnectionLike>;

  protected override async tools(): Promise<Record<string, ConnectorTool>> {
    const connection = await this.createConnection();
    const listed = "agent" in connection ? await ofAgent(connection) : await ofClient(connection);
    const methods: Record<string, ConnectorTool> = {};
    for (const { name, tool } of listed) {
      const method = sanitizeToolName(name);
      if (method === "" || Object.hasOwn(methods, method))
        throw new ExecuteDefinitionError(`Two tools of the MCP server would be ${this.name()}.${method} in code.`);
      methods[method] = tool;
    }
    return methods;
  }
}

interface NamedTool {
  readonly name: string;
  readonly tool: ConnectorTool;
}

type CallListed = (args: Record<string, unknown>, context: ConnectorContext) => Promise<unknown>;

async function ofAgent({ agent, server }: { agent: McpAgentLike; server: string }): Promise<NamedTool[]> {
  const { mcp } = agent;
  // After a restart the servers are connected beside the start.
  await mcp.waitForConnections({ timeout: CONNECT_TIMEOUT_MS });
  const servers = mcp.listServers().filter(({ id, name }) => id === server || name === server);
  const found = servers.find(({ id }) => id === server) ?? servers[0];
  if (!found) throw new ExecuteDefinitionError(`The agent has no MCP server "${server}".`);
  const { id: serverId, name: serverName } = found;
  const tools = mcp.listTools({ serverId });
  if (tools.length === 0 && found.state !== "ready")
    throw new ExecuteDefinitionError(`The MCP server "${server}" is not connected (${found.state}).`);
  return tools.flatMap((tool): NamedTool[] => {
    const approval = approvalOf(agent, toolInfo({ serverId, serverName, tool }));
    if (approval === "hide") return [];
    const call: CallListed = (args, { abortSignal }) =>
      mcp.callTool({ serverId, name: tool.name, arguments: args }, { signal: abortSignal });
    return [{ name: tool.name, tool: { ...methodOf(tool, call), requiresApproval: approval } }];
  });
}

/** A policy that fails asks the user, as it does for calls of the model. */
function approvalOf(agent: McpAgentLike, tool: McpToolInfo): McpApproval {
  try {
    return agent.mcpApproval?.(tool) ?? false;
  } catch (error) {
    console.warn(`mcpApproval failed for "${tool.key}", so its calls need approval:`, error);
    return true;
  }
}

async function ofClient(connection: McpClientLike | { client: McpClientLike }): Promise<NamedTool[]> {
  const client = "client" in connection ? connection.client : connection;
  const found: NamedTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { tools, nextCursor } = await client.listTools(cursor === undefined ? {} : { cursor });
    for (const tool of tools) {
      const call: CallListed = (args, { abortSignal }) =>
        client.callTool({ name: tool.name, arguments: args }, { signal: abortSignal });
      found.push({ name: tool.name, tool: methodOf(tool, call) });
    }
    if (nextCursor === undefined || nextCursor === cursor) break;
    cursor = nextCursor;
  }
  return found;
}

function methodOf(listed: McpToolListing, call: CallListed): ConnectorTool {
  const { description, inputSchema, outputSchema, annotations } = listed;
  const mayBeRepeated = annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
  return {
    onUnknownOutcome: mayBeRepeated ? ("retry" as const) : undefined,
    description,
    inputSchema: inputSchema && inlineRefs(inputSchema, inputSchema),
    outputSchema: outputSchema && inlineRefs(outputSchema, outputSchema),
    execute: async (args, context) => resultValue(await call(isObject(args) ? args : {}, context))
  };
}

/** Structured content, else the texts: as JSON if they are JSON. Throws what the server reports as an error. */
export function resultValue(result: unknown): unknown {
  if (!isObject(result)) return result;
  const content: unknown[] = Array.isArray(result["content"]) ? result["content"] : [];
  const texts = content.flatMap((part) => (isObject(part) && typeof part["text"] === "string" ? [part["text"]] : []));
  const text = texts.join("\n");
  if (result["isError"] === true) throw new Error(text.trim() === "" ? "The tool call failed." : text);
  if (result["structuredContent"] !== undefined) return result["structuredContent"];
  // Pictures and files are left as they came.
  if (texts.length === 0 || texts.length < content.length) return content.length > 0 ? content : text;
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : text;
}
