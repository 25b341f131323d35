// Pages of other sites. A browser sends cookies, and reaches a server on the user's own machine, for any page that asks;
// it says in `Origin` which page that is, and no page can change that. So a WebSocket, or a request that may change
// something, whose origin is another site is refused unless the application allows that origin. Programs that are no
// browsers send no `Origin`: who they are is decided by the hooks of the route.
import { isLoopback } from "../util/loopback.ts";
import { isUpgrade } from "./connections/upgrade.ts";
import { agentErrors } from "./errors.ts";

/**
 * Origins whose pages may connect and change things, beside the agent's own: "https://app.example.com", "null" for pages
 * without one, "*" for all; or a function that decides.
 */
export type AllowedOrigins = readonly string[] | ((origin: string) => boolean);

/** Methods that change nothing. */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Set by `routeAgentRequest` on a request whose foreign origin its own list allows, and removed from every other one. A
 * page of another site cannot set it: browsers ask for permission before they send a header of a page's own.
 */
const ALLOWED_HEADER = "x-everthink-origin";
const ALLOWED = "allowed";

/** Different origins that are logged, each once; above the limit refusals are silent. */
const LOGGED_ORIGINS = 100;
const LOGGED_ORIGIN_CHARACTERS = 200;

const logged = new Set<string>();

/** The answer to a request of another site's page that is not among the allowed ones; undefined: let it through. */
export function refuseCrossSite(request: Request, allowed: AllowedOrigins): Response | undefined {
  const origin = foreignOrigin(request);
  if (origin === undefined || request.headers.get(ALLOWED_HEADER) === ALLOWED || includes(allowed, origin)) {
    return undefined;
  }
  logRefusal(origin);
  return new Response("This origin is not allowed to use the agent.", { status: 403 });
}

/** Lets the agent know that the route has allowed the request's origin. */
export function vouchForOrigin(request: Request): Request {
  if (foreignOrigin(request) === undefined) return request;
  const headers = new Headers(request.headers);
  headers.set(ALLOWED_HEADER, ALLOWED);
  return new Request(request, { headers });
}

/** The request without a client's own word for its origin. */
export function withoutVouching(request: Request): Request {
  if (!request.headers.has(ALLOWED_HEADER)) return request;
  const headers = new Headers(request.headers);
  headers.delete(ALLOWED_HEADER);
  return new Request(request, { headers });
}

/** Checks a list where it is written, so that a typing error does not look like an attack. */
export function checkAllowedOrigins(allowed: AllowedOrigins): AllowedOrigins {
  if (typeof allowed === "function") return allowed;
  for (const entry of allowed) if (normalized(entry) === undefined) throw agentErrors.AllowedOriginsError(entry);
  return allowed;
}

/** The origin of another site's page that wants to connect or to change something. */
function foreignOrigin(request: Request): string | undefined {
  const origin = request.headers.get("Origin");
  if (origin === null || (!isUpgrade(request) && SAFE_METHODS.has(request.method))) return undefined;
  const from = parsed(origin);
  const url = new URL(request.url);
  // A route of the application's own may have rewritten the URL; the host the browser asked for is still in the header.
  const asked = parsed(`${url.protocol}//${request.headers.get("Host") ?? url.host}`);
  const isHere = [url, asked].some((here) => from && here && (from.host === here.host || bothLoopback(from, here)));
  return isHere ? undefined : origin;
}

function bothLoopback(one: URL, other: URL): boolean {
  return isLoopback(one.hostname) && isLoopback(other.hostname);
}

function includes(allowed: AllowedOrigins, origin: string): boolean {
  if (typeof allowed === "function") return allowed(origin);
  const given = normalized(origin);
  return allowed.some((entry) => entry === "*" || (given !== undefined && normalized(entry) === given));
}

/** Default ports, case and a slash at the end make no difference. */
function normalized(origin: string): string | undefined {
  if (origin === "*" || origin === "null") return origin;
  const url = parsed(origin);
  if (!url || url.host === "" || (url.pathname !== "" && url.pathname !== "/") || url.search || url.hash) {
    return undefined;
  }
  return `${url.protocol}//${url.host}`;
}

function parsed(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}

function logRefusal(origin: string): void {
  const shown = origin.slice(0, LOGGED_ORIGIN_CHARACTERS);
  if (logged.has(shown) || logged.size >= LOGGED_ORIGINS) return;
  logged.add(shown);
  console.warn(
    `Refused a request of a page of ${JSON.stringify(shown)}: it is another site than the agent's. To allow it, list it ` +
      `in routeAgentRequest(request, env, { allowedOrigins: [...] }) or in the class's static options = { allowedOrigins: [...] }.`
  );
}
