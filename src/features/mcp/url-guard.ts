// Which addresses an agent may be sent to on behalf of an MCP server. Checked before a server is stored and again for
// every request, redirects and the addresses in a server's OAuth metadata included: those are chosen by the server. What no
// request may reach is `refusalOf`'s to say; here is what of a network an MCP server may be at. Pure.
import { refusalOf } from "../../util/guarded-request.ts";
import { insideOf } from "../../util/inside-address.ts";
import { BlockedUrlError } from "./errors.ts";

export interface AddressPolicy {
  /** Names of a private network may be asked, where the operator lets the agent reach it. Addresses in numbers may not. */
  readonly allowsPrivateNames?: boolean;
}

/** The address of an MCP server as a user gave it. Throws BlockedUrlError. */
export function parseServerUrl(text: string, policy: AddressPolicy = {}): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new BlockedUrlError("it is not a URL");
  }
  if (url.username !== "" || url.password !== "") {
    throw new BlockedUrlError("it contains a user name or password; use transport.headers");
  }
  assertHop(url, url, policy);
  return url;
}

/** The spelling under which two addresses of one server are the same: host case, default port, trailing slash. */
export function normalizeUrl(url: URL): string {
  const path = url.pathname.replace(/\/+$/, "");
  return `${url.protocol}//${url.host.replace(/\.+(?=$|:)/, "")}${path}${url.search}`;
}

/**
 * Throws BlockedUrlError for a request that is made because of `server`, and should not be. A server at a public address
 * must not reach the services of the agent's own machine or network either, which only its operator may name.
 */
export function assertHop(target: URL, server: URL, { allowsPrivateNames = false }: AddressPolicy = {}): void {
  const refusal = refusalOf(target, server, {
    opens: (inside) => (inside === "machine" ? insideOf(server) === "machine" : inside === "name" && allowsPrivateNames)
  });
  if (refusal !== undefined) throw new BlockedUrlError(refusal);
}
