// One open line to an MCP server: the client of `@modelcontextprotocol/client` on one transport. Opened once, used until
// it is lost, never reopened: connection.ts opens the next.
import type { Client, Transport } from "@modelcontextprotocol/client";
import type { ClientSdk } from "./client-package.ts";
import { NO_TIMEOUT_MS } from "./deadline.ts";
import type { Fetch } from "./guarded-fetch.ts";
import type { Login } from "./login.ts";
import type { McpServerRecord, StoredSession } from "./server-record.ts";
import { resumingFetch } from "./session-resume.ts";

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

export interface Link {
  readonly client: Client;
  readonly kind: TransportKind;
  readonly session: StoredSession | null;
  /** Never throws. `endSession`: the server is told to forget the session. */
  close(options: { endSession: boolean }): Promise<void>;
}

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
      ...((resumed !== null || init.isLegacy) && { prior: { kind: "legacy" as const } })
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
    ...(login !== undefined && {
      authProvider: {
        token: () => login.token(),
        onUnauthorized: (refusal: { response: Response }) =>
          login.onUnauthorized({ response: refusal.response, fetchFn: init.fetch })
      }
    })
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
  return {
    client,
    kind: init.kind,
    session: init.kind === "sse" ? null : sessionOf(client, "sessionId" in transport ? transport.sessionId : undefined),
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

function sessionOf(client: Client, id: string | undefined): StoredSession | null {
  const protocolVersion = client.getNegotiatedProtocolVersion();
  const serverInfo = client.getServerVersion();
  if (id === undefined || protocolVersion === undefined || serverInfo === undefined) return null;
  const instructions = client.getInstructions();
  return {
    id,
    initialize: {
      protocolVersion,
      capabilities: { ...client.getServerCapabilities() },
      serverInfo: { ...serverInfo },
      ...(instructions !== undefined && { instructions })
    }
  };
}

async function closeQuietly(client: Client): Promise<void> {
  // Nothing can be done about a line that does not even close.
  await client.close().catch(() => undefined);
}
