// What can go wrong with MCP servers. Messages may be shown to clients and to the model: text that a server sent is
// cleaned and cut before it becomes part of one.
import { errorTable, errorMessage, ThinkError } from "../../util/errors.ts";

/** Characters of a server's own words that are kept. */
const MAX_ERROR_CHARS = 500;

/** Text that may come from a server, fit for a page and a log line: no control characters, at most 500 characters. */
export function cleanText(text: string): string {
  // Control characters could forge log lines, or colour a terminal.
  const printable = text.replaceAll(/[\p{Cc}\s]+/gu, " ").trim();
  return printable.length > MAX_ERROR_CHARS ? `${printable.slice(0, MAX_ERROR_CHARS)}...` : printable;
}

/** What an error says, cleaned. */
export function cleanMessage(error: unknown): string {
  return cleanText(errorMessage(error)) || "Unknown error";
}

export class BlockedUrlError extends ThinkError {
  constructor(reason: string) {
    super({
      code: "mcp-blocked-url",
      message: `Blocked URL: ${reason}.`,
      hint:
        "MCP servers are reached over http or https, at public addresses or at this machine's own (localhost). Names of a " +
        "private network need the variable EVERTHINK_PRIVATE_NETWORK=1, which everthink serve --allow-private-network sets."
    });
  }
}

export class McpPackageMissingError extends ThinkError {
  constructor(cause: unknown) {
    super({
      code: "mcp-package-missing",
      message: 'MCP servers need the package "@modelcontextprotocol/client", which is not installed.',
      hint: "npm install @modelcontextprotocol/client",
      cause
    });
  }
}

export const mcpErrors = errorTable(ThinkError, {
  McpOptionsError: (problem: string, hint?: string) => ({
    code: "mcp-invalid-options",
    message: problem,
    hint
  }),
  McpLimitError: (limit: number) => ({
    code: "mcp-too-many-servers",
    message: `This agent already has ${limit} MCP servers.`,
    hint: "Remove one with removeMcpServer(id) first."
  }),
  McpConnectError: (server: string, problem: string, cause?: unknown) => ({
    code: "mcp-connect-failed",
    message: `The MCP server "${server}" could not be reached: ${problem}`,
    hint: "The server stays stored. Call addMcpServer again to retry, or removeMcpServer(id) to forget it.",
    cause
  }),
  McpAuthorizationError: (message: string, hint?: string) => ({
    code: "mcp-authorization-failed",
    message,
    hint
  }),
  UnknownMcpServerError: (id: string) => ({
    code: "mcp-unknown-server",
    message: `There is no MCP server with the id "${cleanText(id)}".`,
    hint: "getMcpServers() lists the stored ones."
  })
});

/** A call or a read that did not succeed. The model is shown the message. */
export class McpRequestError extends ThinkError {
  constructor(message: string, cause?: unknown) {
    super({ code: "mcp-request-failed", message: cleanText(message), cause });
  }
}
