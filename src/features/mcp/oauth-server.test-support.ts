// An MCP server behind OAuth, of the official server package, and the authorization server it trusts: dynamic
// registration, PKCE (S256 only), codes that work once, refresh tokens that rotate. Functions from requests to responses.
import { createHash, randomUUID } from "node:crypto";
import {
  getOAuthProtectedResourceMetadataUrl,
  oauthMetadataResponse,
  OAuthError,
  OAuthErrorCode,
  requireBearerAuth
} from "@modelcontextprotocol/server";
import type { Handler } from "./served-mcp.test-support.ts";

interface Grant {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly challenge: string;
}

export interface ProtectedMcpInit {
  /** Address of the MCP server, and origin of the authorization server. */
  readonly mcpUrl: string;
  readonly loginOrigin: string;
  /** Answers what a valid token is sent with. */
  readonly mcp: Handler;
}

export class ProtectedMcp {
  readonly registrations: { clientId: string; redirectUris: string[] }[] = [];
  readonly refreshes: string[] = [];
  readonly exchanges: string[] = [];
  /** While set, the token endpoint answers with this status. */
  tokenFailure: number | undefined;
  readonly #init: ProtectedMcpInit;
  readonly #codes = new Map<string, Grant>();
  readonly #refreshTokens = new Map<string, string>();
  readonly #accessTokens = new Set<string>();

  constructor(init: ProtectedMcpInit) {
    this.#init = init;
  }

  /** Tokens that were given out are refused from now on; refresh tokens still work. */
  expireTokens(): void {
    this.#accessTokens.clear();
  }

  revokeEverything(): void {
    this.#accessTokens.clear();
    this.#refreshTokens.clear();
  }

  readonly resource: Handler = async (request) => {
    const { mcpUrl, loginOrigin, mcp } = this.#init;
    const resourceServerUrl = new URL(mcpUrl);
    const endpoint = (path: string) => `${loginOrigin}${path}`;
    const metadata = oauthMetadataResponse(request, {
      resourceServerUrl,
      oauthMetadata: {
        issuer: loginOrigin,
        authorization_endpoint: endpoint("/authorize"),
        token_endpoint: endpoint("/token"),
        response_types_supported: ["code"]
      }
    });
    if (metadata !== undefined) return metadata;
    const verified = await requireBearerAuth({
      resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resourceServerUrl),
      verifier: {
        verifyAccessToken: async (token) => {
          if (!this.#accessTokens.has(token)) throw new OAuthError(OAuthErrorCode.InvalidToken, "expired");
          return { token, clientId: "c", scopes: [], expiresAt: Math.floor(Date.now() / 1000) + 3_600 };
        }
      }
    } as Parameters<typeof requireBearerAuth>[0])(request);
    return verified instanceof Response ? verified : mcp(request);
  };

  readonly login: Handler = async (request) => {
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/.well-known/oauth-authorization-server":
        return Response.json(this.#metadata());
      case "/register":
        return this.#register((await request.json()) as { redirect_uris: string[] });
      case "/authorize":
        return this.#authorize(url.searchParams);
      case "/token":
        return this.#token(new URLSearchParams(await request.text()));
      default:
        return new Response("not found", { status: 404 });
    }
  };

  #metadata(): object {
    const { loginOrigin } = this.#init;
    return {
      issuer: loginOrigin,
      authorization_endpoint: `${loginOrigin}/authorize`,
      token_endpoint: `${loginOrigin}/token`,
      registration_endpoint: `${loginOrigin}/register`,
      response_types_supported: ["code"],
      grant_types_supported: ["authorization_code", "refresh_token"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"]
    };
  }

  #register(body: { redirect_uris: string[] }): Response {
    const clientId = `client-${this.registrations.length + 1}`;
    this.registrations.push({ clientId, redirectUris: body.redirect_uris });
    return Response.json({ ...body, client_id: clientId }, { status: 201 });
  }

  /** As if the user had pressed "allow". */
  #authorize(params: URLSearchParams): Response {
    const redirectUri = params.get("redirect_uri") ?? "";
    const client = this.registrations.find(({ clientId }) => clientId === params.get("client_id"));
    if (!client?.redirectUris.includes(redirectUri)) return new Response("unknown client", { status: 400 });
    if (params.get("code_challenge_method") !== "S256") return new Response("PKCE is required", { status: 400 });
    const code = randomUUID();
    const challenge = params.get("code_challenge") ?? "";
    this.#codes.set(code, { clientId: client.clientId, redirectUri, challenge });
    const back = new URL(redirectUri);
    back.searchParams.set("code", code);
    back.searchParams.set("state", params.get("state") ?? "");
    return new Response(null, { status: 302, headers: { location: back.href } });
  }

  #token(params: URLSearchParams): Response {
    if (this.tokenFailure !== undefined) return new Response("down", { status: this.tokenFailure });
    if (params.get("grant_type") === "refresh_token") return this.#refresh(params.get("refresh_token") ?? "");
    const code = params.get("code") ?? "";
    this.exchanges.push(code);
    const grant = this.#codes.get(code);
    this.#codes.delete(code);
    const challenge = createHash("sha256")
      .update(params.get("code_verifier") ?? "")
      .digest("base64url");
    const isValid =
      grant !== undefined &&
      grant.clientId === params.get("client_id") &&
      grant.redirectUri === params.get("redirect_uri") &&
      grant.challenge === challenge;
    return isValid ? this.#issue(grant.clientId) : Response.json({ error: "invalid_grant" }, { status: 400 });
  }

  #refresh(token: string): Response {
    this.refreshes.push(token);
    const clientId = this.#refreshTokens.get(token);
    this.#refreshTokens.delete(token);
    return clientId === undefined ? Response.json({ error: "invalid_grant" }, { status: 400 }) : this.#issue(clientId);
  }

  #issue(clientId: string): Response {
    const [access, refresh] = [randomUUID(), randomUUID()];
    this.#accessTokens.add(access);
    this.#refreshTokens.set(refresh, clientId);
    const token = { access_token: access, refresh_token: refresh, token_type: "Bearer", expires_in: 3_600 };
    return Response.json(token, { headers: { "cache-control": "no-store" } });
  }
}
