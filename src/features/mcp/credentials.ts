// What the agent holds to prove itself to one MCP server: its registration as an OAuth client, and the tokens. Rows of
// the object's own database; no client secret is asked for, PKCE stands in for it. A user's own provider can take the
// place of these rows (`createMcpOAuthProvider`), but never of the state and the verifier of a login: see login.ts.
import { isObject } from "../../util/json.ts";
import type { LoginKind, McpStore, ServerRef } from "./server-store.ts";

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

/** The server, and how the agent registers with it. */
interface RegisteredAt {
  readonly server: ServerRef;
  readonly callbackUrl: string;
  readonly clientName: string;
}

export class StoredCredentials {
  readonly #store: McpStore;
  readonly #at: RegisteredAt;

  constructor(store: McpStore, at: RegisteredAt) {
    this.#store = store;
    this.#at = at;
  }

  get redirectUrl(): string {
    return this.#at.callbackUrl;
  }

  get clientMetadata(): object {
    return {
      client_name: this.#at.clientName,
      redirect_uris: [this.#at.callbackUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none"
    };
  }

  clientInformation(): unknown {
    const kept = this.#read("client");
    // A registration is for one callback address. After a change of host the agent has to register again.
    if (!isObject(kept) || kept["callbackUrl"] !== this.#at.callbackUrl) return undefined;
    return kept["information"];
  }

  saveClientInformation(information: unknown): void {
    const { server, callbackUrl } = this.#at;
    const store = this.#store;
    store.transaction(() => {
      store.writeCredential(server, "client", { callbackUrl, information });
      const clientId = isObject(information) ? information["client_id"] : undefined;
      store.update(server, { clientId: typeof clientId === "string" ? clientId : null });
    });
  }

  tokens(): unknown {
    return this.#read("tokens");
  }

  saveTokens(tokens: unknown): void {
    this.#store.writeCredential(this.#at.server, "tokens", tokens);
  }

  discoveryState(): unknown {
    return this.#read("discovery");
  }

  saveDiscoveryState(state: unknown): void {
    this.#store.writeCredential(this.#at.server, "discovery", state);
  }

  /** The server said that these are no longer valid. */
  invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    const kinds = scope === "all" ? ["client", "tokens", "discovery"] : [scope];
    for (const kind of kinds) this.#store.deleteCredential(this.#at.server, kind);
  }

  #read(kind: string): unknown {
    return this.#store.readCredential(this.#at.server, kind);
  }
}

/** A provider with methods of ours in place of its own. */
export function withMethods<Own extends object>(provider: McpOAuthProvider, own: Own): McpOAuthProvider & Own {
  return new Proxy(provider, {
    get(target, key) {
      if (Object.hasOwn(own, key)) return Reflect.get(own, key);
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
    has: (target, key) => Object.hasOwn(own, key) || Reflect.has(target, key)
  }) as McpOAuthProvider & Own;
}

/**
 * A class's own provider, for a server at one address. What it was given for an earlier address of the server is not asked of
 * it, until it has been given its like for this one.
 */
export function ofAddress(provider: McpOAuthProvider, store: McpStore, server: ServerRef): McpOAuthProvider {
  const kept = (kind: LoginKind, read: () => unknown) => (store.isFormer(server, kind) ? undefined : read());
  const save = provider.saveClientInformation?.bind(provider);
  return withMethods(provider, {
    tokens: (context?: never) => kept("tokens", () => provider.tokens(context)),
    saveTokens: async (tokens: never, context?: never) => {
      // A refresh that was under way when the address changed.
      if (store.current(server) === undefined) return;
      await provider.saveTokens(tokens, context);
      store.renewed(server, "tokens");
    },
    // A provider that cannot be given a registration has a fixed one, which is the class's own word.
    ...(save && {
      clientInformation: (context?: never) => kept("client", () => provider.clientInformation(context)),
      saveClientInformation: async (information: never, context?: never) => {
        if (store.current(server) === undefined) return;
        await save(information, context);
        store.renewed(server, "client");
      }
    })
  });
}
