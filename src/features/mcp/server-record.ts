// What is kept of an MCP server, and how options of a caller become it. Everything here survives a restart, so it is
// plain JSON: a function or a `Headers` object that would be lost at the next start is turned into a record or refused
// when the server is added. Pure.
import { validateRetry, type ResolvedRetry, type RetryOptions } from "../../agent/retry.ts";
import type { Ids } from "../../host/ports.ts";
import { isObject } from "../../util/json.ts";
import { mcpErrors } from "./errors.ts";

export type McpTransportType = "auto" | "streamable-http" | "sse";

/** Options of `addMcpServer`. */
export interface McpServerOptions {
  /** Your name for the server in tool names and calls. Default: a generated one of 8 characters. */
  id?: string;
  /** Origin that the server's login page sends the user back to. Default: that of the current request. */
  callbackHost?: string;
  /** Path for it, if not the agent's own. Requests for it must reach the agent. */
  callbackPath?: string;
  /** First segment of the agent's path. Default `agents`. */
  agentsPrefix?: string;
  /** How the agent introduces itself to the server. */
  client?: { name?: string; version?: string };
  transport?: {
    /** Sent with every request. Stored, because a restarted agent needs them too. */
    headers?: Record<string, string> | Headers | readonly (readonly [string, string])[];
    /** Default `auto`: streamable HTTP, and SSE where the server does not know it. */
    type?: McpTransportType;
  };
  /** For connecting again after a restart, after a login and after a lost connection. Default 3 attempts, 0.5 to 5 s. */
  retry?: RetryOptions;
  /** The most time for one call, read or prompt. Default 60 000. */
  timeoutMs?: number;
}

export interface StoredOptions {
  readonly clientName: string;
  readonly clientVersion: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly transport: McpTransportType;
  readonly retry: ResolvedRetry;
  readonly timeoutMs: number;
  /** Added by a call while the agent ran, and not by its class: a registration of the class does not replace it. */
  readonly isAdded?: true;
}

/** A session the server opened for this agent, with what it said when it did. */
export interface StoredSession {
  readonly id: string;
  readonly initialize: {
    readonly protocolVersion: string;
    readonly capabilities: Record<string, unknown>;
    readonly serverInfo: Record<string, unknown>;
    readonly instructions?: string;
  };
}

export interface McpServerRecord {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly callbackUrl: string | null;
  readonly clientId: string | null;
  /** Where the user has to log in before the server can be used. */
  readonly authUrl: string | null;
  readonly options: StoredOptions;
  readonly session: StoredSession | null;
}

export const DEFAULT_RETRY: ResolvedRetry = { maxAttempts: 3, baseDelayMs: 500, maxDelayMs: 5_000 };
export const MCP_CALL_TIMEOUT_MS = 60_000;

const MAX_NAME_CHARS = 128;
const MAX_ID_CHARS = 64;
const GENERATED_ID_CHARS = 8;
/** All header names and values together. */
const MAX_HEADER_CHARS = 16_384;
const TRANSPORTS: readonly unknown[] = ["auto", "streamable-http", "sse"] satisfies McpTransportType[];

export function checkServerName(name: string): string {
  if (typeof name !== "string" || name.trim() === "" || name.length > MAX_NAME_CHARS) {
    throw mcpErrors.McpOptionsError(`The name of an MCP server must have 1 to ${MAX_NAME_CHARS} characters.`);
  }
  return name;
}

/** Throws McpOptionsError for anything that could not be stored, or not be used later. */
export function storedOptions(options: McpServerOptions): StoredOptions {
  const type = options.transport?.type ?? "auto";
  if (!TRANSPORTS.includes(type)) {
    throw mcpErrors.McpOptionsError(`transport.type must be one of ${TRANSPORTS.join(", ")}.`);
  }
  const timeoutMs = options.timeoutMs ?? MCP_CALL_TIMEOUT_MS;
  if (!(timeoutMs > 0) || !Number.isFinite(timeoutMs)) {
    throw mcpErrors.McpOptionsError("timeoutMs must be a positive number of milliseconds.");
  }
  return {
    clientName: options.client?.name ?? "everthink",
    clientVersion: options.client?.version ?? "0.1.0",
    headers: plainHeaders(options.transport?.headers),
    transport: type,
    retry: validateRetry(options.retry, DEFAULT_RETRY),
    timeoutMs
  };
}

/** The stored options with those of them that a later call names again. */
export function changedOptions(stored: StoredOptions, given: McpServerOptions): StoredOptions {
  const next = storedOptions(given);
  return {
    isAdded: stored.isAdded,
    clientName: given.client?.name === undefined ? stored.clientName : next.clientName,
    clientVersion: given.client?.version === undefined ? stored.clientVersion : next.clientVersion,
    headers: given.transport?.headers === undefined ? stored.headers : next.headers,
    transport: given.transport?.type === undefined ? stored.transport : next.transport,
    retry: given.retry === undefined ? stored.retry : next.retry,
    timeoutMs: given.timeoutMs === undefined ? stored.timeoutMs : next.timeoutMs
  };
}

function plainHeaders(given: unknown): Record<string, string> {
  if (given === undefined) return {};
  if (typeof given === "function") {
    throw mcpErrors.McpOptionsError(
      "transport.headers must be values: a function would be lost when the agent restarts.",
      "Call addMcpServer again with new headers when they change; they replace the stored ones."
    );
  }
  let headers: Headers;
  try {
    // Any of the shapes that fetch accepts; what it refuses is refused here, and not at the first request.
    headers = new Headers(given as HeadersInit);
  } catch (cause) {
    throw mcpErrors.McpOptionsError(
      `transport.headers cannot be sent: ${cause instanceof Error ? cause.message : "invalid"}`
    );
  }
  const record = Object.fromEntries(headers.entries());
  if (JSON.stringify(record).length > MAX_HEADER_CHARS) {
    throw mcpErrors.McpOptionsError(`transport.headers are longer than ${MAX_HEADER_CHARS} characters.`);
  }
  return record;
}

/** An id in the alphabet of ids: lower case, `[a-z0-9_-]`, starting with a letter, at most 64 characters. */
export function normalizeServerId(id: string): string {
  const plain = String(id)
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, "-")
    .replaceAll(/-{2,}/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  if (plain === "") throw mcpErrors.McpOptionsError("The id of an MCP server needs a letter or a digit.");
  const named = /^[a-z]/.test(plain) ? plain : `id-${plain}`;
  return named.slice(0, MAX_ID_CHARS).replace(/-+$/, "");
}

export function generateServerId(ids: Ids): string {
  let id = "";
  while (id.length < GENERATED_ID_CHARS) {
    id += ids
      .next()
      .toLowerCase()
      .replaceAll(/[^a-z0-9]/g, "");
    // Ids start with a letter.
    id = id.replace(/^\d+/, "");
  }
  return id.slice(0, GENERATED_ID_CHARS);
}

/** Rows are ours, but a row of a later release may hold something else: such a server starts with the defaults. */
export function parseStoredOptions(value: unknown): StoredOptions {
  const defaults = storedOptions({});
  return isObject(value) ? { ...defaults, ...value } : defaults;
}

export function parseStoredSession(value: unknown): StoredSession | null {
  if (!isObject(value) || typeof value["id"] !== "string" || !isObject(value["initialize"])) return null;
  const { protocolVersion, capabilities, serverInfo, instructions } = value["initialize"];
  if (typeof protocolVersion !== "string" || !isObject(capabilities) || !isObject(serverInfo)) return null;
  const said = typeof instructions === "string" ? { instructions } : {};
  return { id: value["id"], initialize: { protocolVersion, capabilities, serverInfo, ...said } };
}
