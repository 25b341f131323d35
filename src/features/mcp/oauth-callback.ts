// The request with which a login page sends the user back. It is taken for one only at the server's own callback address
// with a state of ours, and nothing about a connection changes before that state was found to be open: any client can ask
// for this address.
import type { Clock } from "../../host/ports.ts";
import type { McpConnection } from "./connection.ts";
import type { McpConnectionState } from "./connection-state.ts";
import { cleanMessage, cleanText } from "./errors.ts";
import type { McpOAuthCallbackOptions, McpOAuthResult } from "./clients.ts";
import type { McpServerRecord } from "./server-record.ts";
import type { McpStore } from "./server-store.ts";

export interface CallbackServices {
  readonly store: McpStore;
  readonly clock: Clock;
  readonly connection: (record: McpServerRecord) => McpConnection;
  readonly background: (work: Promise<unknown>) => void;
}

export interface CallbackRequest {
  readonly request: Request;
  /** It was addressed to `callback` directly below the agent. A sub-agent is not shown what is above that. */
  readonly isOwnRoute: boolean;
}

/** The server whose login this request ends; undefined for any other request. */
export function callbackServer({ request, isOwnRoute }: CallbackRequest, store: McpStore): McpServerRecord | undefined {
  if (request.method !== "GET") return undefined;
  const url = new URL(request.url);
  const state = parseState(url.searchParams.get("state"));
  const record = state && store.get(state.serverId);
  if (record === undefined || record.callbackUrl === null) return undefined;
  const expected = new URL(record.callbackUrl);
  const isPath = isOwnRoute || url.pathname === expected.pathname;
  return url.origin === expected.origin && isPath ? record : undefined;
}

export async function finishCallback(
  request: Request,
  record: McpServerRecord,
  services: CallbackServices
): Promise<McpOAuthResult> {
  const { store, clock } = services;
  const params = new URL(request.url).searchParams;
  const nonce = parseState(params.get("state"))?.nonce ?? "";
  const connection = services.connection(record);
  const login = store.readLogin(record, nonce, clock.now());
  if (isPastLogin(connection.state, login)) {
    store.deleteLogin(record, nonce);
    return { serverId: record.id, authSuccess: true };
  }
  if (login === undefined) return refuseUnknown(record, params, services);
  // Used up before it is used. Without its page the row says what is true if the process dies here: not logged in yet.
  store.transaction(() => {
    store.deleteLogin(record, nonce);
    store.update(record, { authUrl: null });
  });
  try {
    await exchange(connection, login, params);
  } catch (error) {
    const authError = cleanMessage(error);
    connection.failLogin(authError);
    return { serverId: record.id, authSuccess: false, authError };
  }
  services.background(connection.establishAnew({ attempts: record.options.retry.maxAttempts }));
  return { serverId: record.id, authSuccess: true };
}

async function exchange(connection: McpConnection, login: unknown, params: URLSearchParams): Promise<void> {
  const error = params.get("error");
  if (error !== null) {
    const description = params.get("error_description");
    throw new Error(cleanText(description === null ? error : `${error}: ${description}`));
  }
  const code = params.get("code");
  if (code === null || code === "") throw new Error("The login page sent no code.");
  await connection.finishLogin({ login, code, iss: params.get("iss") ?? undefined });
}

/** A second answer of a login page that was answered already: the first one counts. */
function isPastLogin(state: McpConnectionState, login: unknown): boolean {
  if (state === "ready" || state === "connected" || state === "discovering") return true;
  return state === "connecting" && login === undefined;
}

function refuseUnknown(record: McpServerRecord, params: URLSearchParams, services: CallbackServices): McpOAuthResult {
  const shown = record.authUrl === null ? null : new URL(record.authUrl).searchParams.get("state");
  if (shown !== null && shown === params.get("state")) {
    // The page that clients are shown is too old. Only a user who was shown it knows its state, so it may be replaced.
    services.store.update(record, { authUrl: null });
    services.background(services.connection(record).establish({ attempts: 1 }));
  }
  const authError = "This login has expired or was used already. Please start again.";
  return { serverId: record.id, authSuccess: false, authError };
}

export async function callbackResponse(
  request: Request,
  result: McpOAuthResult,
  options: McpOAuthCallbackOptions
): Promise<Response> {
  if (options.customHandler !== undefined) return options.customHandler(result);
  const { origin } = new URL(request.url);
  const target = new URL((result.authSuccess ? options.successRedirect : options.errorRedirect) ?? "/", origin);
  if (result.authError !== undefined) target.searchParams.set("error", result.authError);
  return new Response(null, { status: 302, headers: { location: target.href } });
}

/** A stored login page with less time left is replaced before a user is sent to it. */
const LOGIN_MARGIN_MS = 30_000;

/** Whether a user who is sent to the stored page can still finish the login there. */
export function isOpenLogin(
  record: McpServerRecord,
  { store, clock }: Pick<CallbackServices, "store" | "clock">
): boolean {
  const { authUrl } = record;
  const nonce = authUrl === null ? undefined : parseState(new URL(authUrl).searchParams.get("state"))?.nonce;
  return nonce !== undefined && store.readLogin(record, nonce, clock.now() + LOGIN_MARGIN_MS) !== undefined;
}

/**
 * The state parameter of a login: which one, and of which server. Undefined for a text that is none. Ids that were carried
 * over from an agent of the original may have capitals.
 */
export function parseState(state: string | null): { nonce: string; serverId: string } | undefined {
  const [, nonce, serverId] = /^([\w-]{1,64})\.([\w-]{1,64})$/.exec(state ?? "") ?? [];
  return nonce === undefined || serverId === undefined ? undefined : { nonce, serverId };
}
