// A request's credential, as routes and hooks of an application check it.
import { isSameSecret } from "../util/same-secret.ts";

/**
 * Whether a request carries `Authorization: Bearer <token>`, compared in constant time. False without a token to compare
 * with: a variable that is not set opens nothing.
 *
 * @example
 * override authorizeSubmission(request: Request) {
 *   return hasBearerToken(request, this.env.WEBHOOK_SECRET);
 * }
 */
export function hasBearerToken(request: Request, token: string | undefined): boolean {
  const given = /^Bearer\s+(\S+)$/i.exec(request.headers.get("Authorization") ?? "")?.[1];
  return given !== undefined && typeof token === "string" && isSameSecret(given, token);
}
