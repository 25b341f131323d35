// What the agent holds to prove itself to one MCP server: its registration as an OAuth client, and the tokens. Rows of
// the object's own database; no client secret is asked for, PKCE stands in for it. A user's own provider can take the
// place of these rows (`createMcpOAuthProvider`), but never of the state and the verifier of a login: see login.ts.
import { isObject } from "../../util/json.ts";
import type { McpStore } from "./server-store.ts";

/**
 * Where an agent keeps its OAuth client registration and tokens for a server. Any `OAuthClientProvider` of
 * `@modelcontextprotocol/client` is one. Its `state`, code verifier and redirect are not used: the agent keeps those.
 */
export interface McpOAuthProvider {
  readonly redirectUrl: string | URL | undefined;
  readonly clientMetadata: object;
  clientInformation(context?: never): unknown;
  saveClientInformation?(information: never, context?: never): void | Promise<void>;
  tokens(context?: never): unknown;
  saveTokens(tokens: never, context?: never): void | Promise<void>;
}

export interface CredentialsInit {
  readonly store: McpStore;
  readonly serverId: string;
  readonly callbackUrl: string;
  readonly clientName: string;
}

export class StoredCredentials {
  readonly #init: CredentialsInit;

  constructor(init: CredentialsInit) {
    this.#init = init;
  }

  get redirectUrl(): string {
    return this.#init.callbackUrl;
  }

  get clientMetadata(): object {
    return {
      client_name: this.#init.clientName,
      redirect_uris: [this.#init.callbackUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none"
    };
  }

  clientInformation(): unknown {
    const kept = this.#read("client");
    // A registration is for one callback address. After a change of host the agent has to register again.
    if (!isObject(kept) || kept["callbackUrl"] !== this.#init.callbackUrl) return undefined;
    return kept["information"];
  }

  saveClientInformation(information: unknown): void {
    const { store, serverId, callbackUrl } = this.#init;
    store.transaction(() => {
      store.writeCredential(serverId, "client", { callbackUrl, information });
      const clientId = isObject(information) ? information["client_id"] : undefined;
      store.update(serverId, { clientId: typeof clientId === "string" ? clientId : null });
    });
  }

  tokens(): unknown {
    return this.#read("tokens");
  }

  saveTokens(tokens: unknown): void {
    this.#init.store.writeCredential(this.#init.serverId, "tokens", tokens);
  }

  discoveryState(): unknown {
    return this.#read("discovery");
  }

  saveDiscoveryState(state: unknown): void {
    this.#init.store.writeCredential(this.#init.serverId, "discovery", state);
  }

  /** The server said that these are no longer valid. */
  invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    const kinds = scope === "all" ? ["client", "tokens", "discovery"] : [scope];
    for (const kind of kinds) this.#init.store.deleteCredential(this.#init.serverId, kind);
  }

  #read(kind: string): unknown {
    return this.#init.store.readCredential(this.#init.serverId, kind);
  }
}
