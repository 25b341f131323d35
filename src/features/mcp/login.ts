// Logging in to one MCP server: OAuth with PKCE and dynamic registration, by the rules of `@modelcontextprotocol/client`.
// A login under way is a row: its state (single use, ten minutes) and the verifier that belongs to this state alone, so
// two windows do not disturb each other and a restart loses nothing. Several requests that are refused at once lead to
// one refresh of the token, because a refresh token can be used once.
import type { OAuthClientProvider, UnauthorizedError } from "@modelcontextprotocol/client";
import { isObject } from "../../util/json.ts";
import type { ClientSdk } from "./client-package.ts";
import { withMethods, type McpOAuthProvider } from "./credentials.ts";
import { mcpErrors } from "./errors.ts";
import type { Fetch } from "../../util/guarded-request.ts";
import type { ProtocolServices } from "./protocol.ts";
import type { ServerRef } from "./server-store.ts";

/** How long a user has for the login page. */
export const LOGIN_LIFETIME_MS = 10 * 60_000;
/** Of the address of a login page, which is stored and sent to every client. A longer one is refused. */
const MAX_PAGE_CHARS = 16_384;

/** The server that is logged in to. */
interface LoginTarget {
  readonly sdk: ClientSdk;
  readonly server: ServerRef;
  readonly provider: McpOAuthProvider;
  /** Checks the address of each request. */
  readonly fetch: Fetch;
}

/** A login as its row keeps it, between the page that starts it and the callback that ends it. */
interface PendingLogin {
  readonly verifier: string;
  readonly resourceMetadataUrl?: string;
  readonly scope?: string;
}

export interface Refusal {
  readonly response: Response;
  readonly fetchFn: Fetch;
}

export class Login {
  readonly #services: ProtocolServices;
  readonly #target: LoginTarget;
  /** One at a time: see the top. */
  #running: Promise<void> | undefined;
  /** The token that was sent with the request of each refused response. */
  readonly #sent = new WeakMap<Response, string | null>();

  constructor(services: ProtocolServices, target: LoginTarget) {
    this.#services = services;
    this.#target = target;
  }

  /** `fetch` that remembers which token the server refused. */
  watch(fetch: Fetch): Fetch {
    return async (url, init) => {
      const response = await fetch(url, init);
      if (response.status === 401) this.#sent.set(response, new Headers(init?.headers).get("authorization"));
      return response;
    };
  }

  /** For the transport: the token to send, if there is one. */
  async token(): Promise<string | undefined> {
    const tokens = await this.#target.provider.tokens();
    const token = isObject(tokens) ? tokens["access_token"] : undefined;
    return typeof token === "string" ? token : undefined;
  }

  /**
   * For the transport: the server refused a request. Returns when it is worth sending it again; throws the package's
   * UnauthorizedError when the user has to log in, whose page is in the record then.
   */
  async onUnauthorized(refusal: Refusal): Promise<void> {
    if (this.#running === undefined) {
      const token = await this.token();
      const sent = this.#sent.get(refusal.response);
      // Another request has renewed the token since.
      if (token !== undefined && sent !== undefined && sent !== `Bearer ${token}`) return;
    }
    this.#running ??= this.#authorize(refusal).finally(() => {
      this.#running = undefined;
    });
    await this.#running;
  }

  /** Ends a login with the code that the callback brought. Throws what went wrong. */
  async finish(login: unknown, code: string, iss: string | undefined): Promise<void> {
    const { sdk, server, fetch } = this.#target;
    const pending = pendingLoginOf(login);
    const flow = this.#flow({ codeVerifier: () => pending.verifier });
    const result = await sdk.auth(flow, {
      serverUrl: new URL(server.url),
      authorizationCode: code,
      iss,
      scope: pending.scope,
      resourceMetadataUrl: pending.resourceMetadataUrl !== undefined ? new URL(pending.resourceMetadataUrl) : undefined,
      fetchFn: fetch
    });
    if (result !== "AUTHORIZED") throw mcpErrors.McpAuthorizationError("The server did not accept the login.");
  }

  async #authorize({ response, fetchFn }: Refusal): Promise<void> {
    const { sdk, server, provider } = this.#target;
    const { resourceMetadataUrl, scope } = sdk.extractWWWAuthenticateParams(response);
    const before = await provider.tokens();
    const canRefresh = isObject(before) && typeof before["refresh_token"] === "string";
    // Without tokens this is a new login, which must not go to an authorization server that was replaced since.
    if (!canRefresh) await (provider as Partial<OAuthClientProvider>).invalidateCredentials?.("discovery");
    const page = new LoginPage(this.#services, server, { resourceMetadataUrl: resourceMetadataUrl?.href, scope });
    const watched = watchPosts(fetchFn);
    const result = await sdk.auth(this.#flow(page.methods()), {
      serverUrl: new URL(server.url),
      resourceMetadataUrl,
      scope,
      fetchFn: watched.fetch
    });
    if (result === "AUTHORIZED") return;
    // The package takes any failed refresh for a reason to log in again. While the token endpoint is down it is not one.
    if (canRefresh && watched.failure !== undefined) throw watched.failure;
    page.open();
    throw unauthorized(sdk);
  }

  /** The provider with our part of a login in place of its own. */
  #flow(own: Partial<OAuthClientProvider>): OAuthClientProvider {
    // A provider of ours has the methods that a login of ours needs.
    return withMethods(this.#target.provider, own) as McpOAuthProvider & OAuthClientProvider;
  }
}

/** The start of one login: collects what the package says about it, and makes it durable when the page is shown. */
class LoginPage {
  readonly #services: ProtocolServices;
  readonly #server: ServerRef;
  readonly #params: Pick<PendingLogin, "resourceMetadataUrl" | "scope">;
  readonly #nonce: string;
  #verifier = "";
  #url = "";

  constructor(
    services: ProtocolServices,
    server: ServerRef,
    params: Pick<PendingLogin, "resourceMetadataUrl" | "scope">
  ) {
    this.#services = services;
    this.#server = server;
    this.#params = params;
    this.#nonce = services.ids.next();
  }

  methods(): Partial<OAuthClientProvider> {
    return {
      state: () => `${this.#nonce}.${this.#server.id}`,
      saveCodeVerifier: (verifier) => {
        this.#verifier = verifier;
      },
      codeVerifier: () => this.#verifier,
      redirectToAuthorization: (url) => {
        this.#url = checkedPage(url).href;
      }
    };
  }

  /** State, verifier and address in one transaction: an address without its state would lead nowhere. */
  open(): void {
    const { store, clock, emit } = this.#services;
    const server = this.#server;
    const now = clock.now();
    const value: PendingLogin = { verifier: this.#verifier, ...this.#params };
    store.transaction(() => {
      store.writeLogin(server, this.#nonce, { value, expiresAt: now + LOGIN_LIFETIME_MS, now });
      store.update(server, { authUrl: this.#url });
    });
    const clientId = store.get(server.id)?.clientId ?? undefined;
    emit("mcp:client:authorize", { serverId: server.id, authUrl: this.#url, clientId });
  }
}

/** Shown to users as a link: anything but a web page could run code in theirs. */
export function checkedPage(url: URL): URL {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw mcpErrors.McpAuthorizationError("The server's login page is not a web page.");
  }
  if (url.href.length <= MAX_PAGE_CHARS) return url;
  throw mcpErrors.McpAuthorizationError(
    `The address of the server's login page has more than ${MAX_PAGE_CHARS} characters.`
  );
}

function watchPosts(fetch: Fetch): { fetch: Fetch; readonly failure: unknown } {
  let failure: unknown;
  const watched: Fetch = async (url, init) => {
    try {
      const response = await fetch(url, init);
      if (init?.method === "POST" && response.status >= 500) {
        failure = mcpErrors.McpAuthorizationError(`The authorization server answered with status ${response.status}.`);
      }
      return response;
    } catch (error) {
      if (init?.method === "POST") failure = error;
      throw error;
    }
  };
  return {
    fetch: watched,
    get failure() {
      return failure;
    }
  };
}

function unauthorized(sdk: ClientSdk): UnauthorizedError {
  return new sdk.UnauthorizedError("The user has to log in.");
}

function pendingLoginOf(login: unknown): PendingLogin {
  if (!isObject(login) || typeof login["verifier"] !== "string") {
    throw mcpErrors.McpAuthorizationError("This login was not started here, or has ended.");
  }
  const { verifier, resourceMetadataUrl, scope } = login;
  return {
    verifier: verifier as string,
    resourceMetadataUrl: typeof resourceMetadataUrl === "string" ? resourceMetadataUrl : undefined,
    scope: typeof scope === "string" ? scope : undefined
  };
}
