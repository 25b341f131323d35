// What an error of the MCP client means, by its class and its HTTP status. Never by digits inside a message, which may
// be a server's words. Pure.
import type { ClientSdk } from "./client-package.ts";
import { BlockedUrlError, McpRequestError } from "./errors.ts";
import { ANSWER_LOST } from "./link.ts";

/**
 * `request`: the server answered, or the request was at fault. `session-gone`: the server does not know the session, so
 * it has not handled the request. `login`: the user has to log in. `lost`: no telling what the server did.
 */
export type FailureKind = "request" | "session-gone" | "login" | "lost";

export function classifyFailure(
  error: unknown,
  { sdk, hasSession }: { sdk: ClientSdk; hasSession: boolean }
): FailureKind {
  if (needsLogin(error, sdk)) return "login";
  if (error instanceof McpRequestError || error instanceof BlockedUrlError) return "request";
  if (error instanceof sdk.ProtocolError) return error.code === ANSWER_LOST ? "lost" : "request";
  const status = statusOf(error, sdk);
  // The protocol says 404; servers after the official examples say 400. Neither has handled the request.
  if (status !== undefined) return hasSession && (status === 404 || status === 400) ? "session-gone" : "request";
  if (error instanceof sdk.SdkError) return error.code === sdk.SdkErrorCode.ConnectionClosed ? "lost" : "request";
  return "lost";
}

function needsLogin(error: unknown, sdk: ClientSdk): boolean {
  return error instanceof sdk.UnauthorizedError;
}

/** The server does not speak streamable HTTP at this address. */
export function isUnknownTransport(error: unknown, sdk: ClientSdk): boolean {
  const status = statusOf(error, sdk);
  return status === 404 || status === 405 || status === 501;
}

/** The server failed at the question for the newer protocol; an older one may still understand the usual handshake. */
export function isUnknownProtocol(error: unknown, sdk: ClientSdk): boolean {
  return error instanceof sdk.SdkError && error.code === sdk.SdkErrorCode.EraNegotiationFailed;
}

export function statusOf(error: unknown, sdk: ClientSdk): number | undefined {
  if (error instanceof sdk.SdkHttpError) return error.status;
  return error instanceof sdk.SseError ? error.code : undefined;
}
