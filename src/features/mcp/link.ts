// One open line to an MCP server: the client of `@modelcontextprotocol/client` on one transport. Opened once, used until
// it is lost, never reopened: connection.ts opens the next. A session that the server opened before the agent restarted goes
// on.
import type { Client, Transport } from "@modelcontextprotocol/client";
import { isObject, parseJson } from "../../util/json.ts";
import type { ClientSdk } from "./client-package.ts";
import { NO_TIMEOUT_MS } from "./connection.ts";
import type { Fetch } from "../../util/guarded-request.ts";
import type { Login } from "./login.ts";
import type { McpServerRecord, StoredSession } from "./server-record.ts";

export type TransportKind = "streamable-http" | "sse";
export type CatalogList = "tools" | "prompts" | "resources";

export interface LinkInit {
  readonly sdk: ClientSdk;
  readonly record: McpServerRecord;
  readonly kind: TransportKind;
  /** Begins with the handshake that all servers know, instead of asking for the protocol of 2026 first. */
  readonly isLegacy: boolean;
  readonly fetch: Fetch;
  /** Undefined where no login is possible, because the server would have nowhere to send the user back to. */
  readonly login: Login | undefined;
  /** Ends the attempt to connect. */
  readonly signal: AbortSignal;
  readonly onListChanged: (list: CatalogList) => void;
  /** The server is gone. Not called for a line that was closed from here. */
  readonly onLost: (error: Error) => void;
}

/** What a server says about itself, cut to what is stored and sent to clients. */
export interface AboutServer {
  readonly instructions: string | null;
  readonly capabilities: Record<string, unknown> | null;
}

export interface Link {
  readonly client: Client;
  readonly kind: TransportKind;
  readonly about: AboutServer;
  readonly session: StoredSession | null;
  /** Never throws. `endSession`: the server is asked to forget the session. */
  close(options: { endSession: boolean }): Promise<void>;
}

/** The rest is left out. */
const MAX_INSTRUCTIONS_CHARS = 8_192;
/** As JSON. Of longer ones only the names are kept, with the flags of each. */
const MAX_CAPABILITIES_CHARS = 16_384;
const CAPABILITIES = ["tools", "prompts", "resources", "logging", "completions"] as const;
const MAX_NAME_CHARS = 256;

/** The code of the answer that takes the place of one that can no longer come. Outside of JSON-RPC's reserved range. */
export const ANSWER_LOST = -1;

/** Throws what the client or the server said. */
export async function openLink(init: LinkInit): Promise<Link> {
  const { sdk, record, kind, signal } = init;
  const resumed = kind === "streamable-http" ? record.session : null;
  const transport = createTransport(init, resumed);
  const client = createClient(init);
  const abandon = () => void transport.close();
  signal.throwIfAborted();
  signal.addEventListener("abort", abandon, { once: true });
  try {
    await client.connect(transport, {
      signal,
      timeout: NO_TIMEOUT_MS,
      prior: resumed !== null || init.isLegacy ? { kind: "legacy" as const } : undefined
    });
    signal.throwIfAborted();
  } catch (error) {
    await closeQuietly(client);
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener("abort", abandon);
  }
  return watchLink({ init, client, transport, sdk });
}

function createTransport(init: LinkInit, resumed: StoredSession | null) {
  const { sdk, record, login } = init;
  const fetch = login === undefined ? init.fetch : login.watch(init.fetch);
  const options = {
    fetch: resumed === null ? fetch : resumingFetch(resumed, fetch),
    requestInit: { headers: { ...record.options.headers } },
    authProvider: login && {
      token: () => login.token(),
      onUnauthorized: (refusal: { response: Response }) =>
        login.onUnauthorized({ response: refusal.response, fetchFn: init.fetch })
    }
  };
  const url = new URL(record.url);
  if (init.kind === "sse") return new sdk.SSEClientTransport(url, options);
  return reportLostAnswers(new sdk.StreamableHTTPClientTransport(url, options));
}

function createClient({ sdk, record, onListChanged }: LinkInit): Client {
  const changed = (list: CatalogList) => ({ autoRefresh: false, debounceMs: 0, onChanged: () => onListChanged(list) });
  return new sdk.Client(
    { name: record.options.clientName, version: record.options.clientVersion },
    {
      // Nothing is advertised that has no handler: no sampling, no elicitation, no roots.
      capabilities: {},
      jsonSchemaValidator: new sdk.SchemaValidator(),
      versionNegotiation: { mode: "auto" },
      listChanged: { tools: changed("tools"), prompts: changed("prompts"), resources: changed("resources") }
    }
  );
}

/**
 * A request whose answer came over a stream that ended without it would wait for its timeout. The transport says when a
 * stream has ended for good; an error then takes the answer's place. An answer that did come makes it a no-op.
 */
function reportLostAnswers<T extends Transport>(transport: T): T {
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    const id = "id" in message && "method" in message ? message.id : undefined;
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.();
      if (id === undefined) return;
      const error = { code: ANSWER_LOST, message: "The connection ended before the answer came." };
      transport.onmessage?.({ jsonrpc: "2.0", id, error });
    };
    return send(message, { ...options, onRequestStreamEnd });
  };
  return transport;
}

/**
 * Goes on with a session. The handshake of the MCP client is answered from what the server said when it opened the session, so
 * the server keeps what belongs to it and is asked nothing twice. A server that has forgotten the session says so (404) at the
 * first real request.
 */
function resumingFetch(session: StoredSession, fetch: Fetch): Fetch {
  let isOpen = false;
  return async (url, init) => {
    const message = isOpen ? undefined : postedMessage(init);
    switch (message?.["method"]) {
      case "initialize":
        return Response.json(
          { jsonrpc: "2.0", id: message["id"], result: session.initialize },
          { headers: { "mcp-session-id": session.id } }
        );
      case "notifications/initialized":
        // The client now asks for the stream of the server's notifications, as after a new handshake.
        isOpen = true;
        return new Response(null, { status: 202 });
      default:
        return fetch(url, init);
    }
  };
}

function postedMessage(init: RequestInit | undefined): Record<string, unknown> | undefined {
  if (init?.method !== "POST" || typeof init.body !== "string") return undefined;
  const parsed = parseJson(init.body);
  return parsed.ok && isObject(parsed.value) ? parsed.value : undefined;
}

interface OpenedLink {
  readonly init: LinkInit;
  readonly client: Client;
  readonly transport: ReturnType<typeof createTransport>;
  readonly sdk: ClientSdk;
}

function watchLink({ init, client, transport, sdk }: OpenedLink): Link {
  let isClosed = false;
  const lost = (error: Error) => {
    if (isClosed) return;
    isClosed = true;
    init.onLost(error);
    void closeQuietly(client);
  };
  client.onclose = () => lost(new Error("The server closed the connection."));
  // Streamable HTTP has no line that could break between requests; what a request meets, it reports itself.
  if (init.kind === "sse") client.onerror = (error) => void (error instanceof sdk.SseError && lost(error));
  const about = aboutServer(client);
  const sessionId = init.kind !== "sse" && "sessionId" in transport ? transport.sessionId : undefined;
  return {
    client,
    kind: init.kind,
    about,
    session: sessionId === undefined ? null : sessionOf(client, sessionId, about),
    close: async ({ endSession }) => {
      isClosed = true;
      if (endSession && "terminateSession" in transport) {
        // A server that is gone, or that does not let sessions be ended, will drop it by itself.
        await transport.terminateSession().catch(() => undefined);
      }
      await closeQuietly(client);
    }
  };
}

function aboutServer(client: Client): AboutServer {
  const capabilities = client.getServerCapabilities();
  return {
    instructions: client.getInstructions()?.slice(0, MAX_INSTRUCTIONS_CHARS) ?? null,
    capabilities: capabilities === undefined ? null : boundedCapabilities({ ...capabilities })
  };
}

function boundedCapabilities(capabilities: Record<string, unknown>): Record<string, unknown> {
  if (JSON.stringify(capabilities).length <= MAX_CAPABILITIES_CHARS) return capabilities;
  const kept = CAPABILITIES.flatMap((name) => {
    const value = capabilities[name];
    return isObject(value) ? [[name, flagsOf(value)] as const] : [];
  });
  return Object.fromEntries(kept);
}

function flagsOf({ listChanged, subscribe }: Record<string, unknown>): Record<string, boolean> {
  return { ...(listChanged === true && { listChanged }), ...(subscribe === true && { subscribe }) };
}

function sessionOf(client: Client, id: string, { instructions, capabilities }: AboutServer): StoredSession | null {
  const protocolVersion = client.getNegotiatedProtocolVersion();
  const server = client.getServerVersion();
  if (protocolVersion === undefined || server === undefined) return null;
  const serverInfo = { name: server.name.slice(0, MAX_NAME_CHARS), version: server.version.slice(0, MAX_NAME_CHARS) };
  return {
    id,
    initialize: {
      protocolVersion,
      capabilities: capabilities ?? {},
      serverInfo,
      instructions: instructions ?? undefined
    }
  };
}

async function closeQuietly(client: Client): Promise<void> {
  // Nothing can be done about a line that does not even close.
  await client.close().catch(() => undefined);
}
