// Speaking MCP to a server: opening a line on the transport and the protocol version that it knows, logging in, reading
// its lists, and what its errors mean. `@modelcontextprotocol/client` is loaded when an agent connects its first server.
import type { Clock, Ids } from "../../host/ports.ts";
import type { Emit } from "../../observe/events.ts";
import type { McpCatalog } from "./catalog.ts";
import { loadSdk, type ClientSdk } from "./client-package.ts";
import { ofAddress, StoredCredentials, type McpOAuthProvider } from "./credentials.ts";
import { discover } from "./discover.ts";
import { mcpErrors } from "./errors.ts";
import { classifyFailure, isUnknownProtocol, isUnknownTransport, statusOf, type FailureKind } from "./failure.ts";
import type { Fetch } from "../../util/guarded-request.ts";
import { guardedFetch } from "./guarded-fetch.ts";
import { openLink, type Link, type TransportKind } from "./link.ts";
import { Login } from "./login.ts";
import type { Warn } from "./read-catalog.ts";
import type { McpServerRecord } from "./server-record.ts";
import type { McpStore } from "./server-store.ts";
import type { AddressPolicy } from "./url-guard.ts";

export interface ProtocolServices {
  readonly addresses?: AddressPolicy;
  readonly store: McpStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly fetch: Fetch;
  /** A user's own place for registrations and tokens; undefined: rows of the object. */
  readonly createOAuthProvider?: (callbackUrl: string) => McpOAuthProvider | undefined;
  readonly emit: Emit;
}

export interface ConnectInit {
  readonly record: McpServerRecord;
  /** Bounds one handshake. */
  readonly within: (open: (signal: AbortSignal) => Promise<Link>) => Promise<Link>;
  readonly onListChanged: () => void;
  /** The server is gone. */
  readonly onLost: (error: Error) => void;
}

export type LoadProtocol = (services: ProtocolServices) => Promise<Protocol>;

/** Throws McpPackageMissingError. */
export const openProtocol: LoadProtocol = async (services) => new Protocol(await loadSdk(), services);

export class Protocol {
  readonly #sdk: ClientSdk;
  readonly #services: ProtocolServices;

  constructor(sdk: ClientSdk, services: ProtocolServices) {
    this.#sdk = sdk;
    this.#services = services;
  }

  /** Throws what the server said. A server that wants a login has left its page in the record then. */
  async connect(init: ConnectInit): Promise<Link> {
    const { transport } = init.record.options;
    if (transport !== "auto") return this.#open(init, transport);
    try {
      return await this.#open(init, "streamable-http");
    } catch (error) {
      if (!isUnknownTransport(error, this.#sdk)) throw error;
    }
    return this.#open(init, "sse");
  }

  readLists({ client }: Link, init: { signal: AbortSignal; warn: Warn }): Promise<McpCatalog> {
    return discover({ sdk: this.#sdk, client, ...init });
  }

  /** The user is back from the login page with a code. Throws what the server said. */
  async finishLogin(record: McpServerRecord, { login, code, iss }: LoginAnswer): Promise<void> {
    const ours = this.#login(record);
    if (ours === undefined) throw mcpErrors.McpAuthorizationError("This server has no callback address.");
    await ours.finish(login, code, iss);
  }

  failureKind(error: unknown, link: Link | undefined): FailureKind {
    return classifyFailure(error, { sdk: this.#sdk, hasSession: !!link?.session });
  }

  /** The server wants to know who asks. */
  isRefused(error: unknown): boolean {
    return statusOf(error, this.#sdk) === 401;
  }

  async #open(init: ConnectInit, kind: TransportKind): Promise<Link> {
    try {
      return await this.#openOnce(init, { kind, isLegacy: false });
    } catch (error) {
      if (!isUnknownProtocol(error, this.#sdk)) throw error;
    }
    return this.#openOnce(init, { kind, isLegacy: true });
  }

  #openOnce(init: ConnectInit, way: { kind: TransportKind; isLegacy: boolean }): Promise<Link> {
    const { record, within, onListChanged, onLost } = init;
    const [sdk, login, fetch] = [this.#sdk, this.#login(record), this.#fetch(record)];
    return within((signal) => openLink({ sdk, record, ...way, signal, fetch, login, onListChanged, onLost }));
  }

  #login(record: McpServerRecord): Login | undefined {
    const { store, createOAuthProvider } = this.#services;
    const { id, url, callbackUrl, options } = record;
    if (callbackUrl === null) return undefined;
    const server = { id, url };
    const own = createOAuthProvider?.(callbackUrl);
    const provider = own
      ? ofAddress(own, store, server)
      : new StoredCredentials(store, { server, callbackUrl, clientName: options.clientName });
    return new Login(this.#services, { sdk: this.#sdk, server, provider, fetch: this.#fetch(record) });
  }

  #fetch({ url }: McpServerRecord): Fetch {
    return guardedFetch(this.#services.fetch, new URL(url), this.#services.addresses);
  }
}

export interface LoginAnswer {
  /** As its row kept it. */
  readonly login: unknown;
  readonly code: string;
  readonly iss: string | undefined;
}
