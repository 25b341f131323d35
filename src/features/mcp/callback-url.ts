// Where a login page sends the user back to: `callback` directly below the agent's own address, or a path that the
// application routes to the agent.
import { currentContext } from "../../agent/context.ts";
import { pathBelowAgent } from "../../agent/own-path.ts";
import { runtimeOf } from "../../agent/runtime.ts";
import { SUB_PREFIX } from "../../host/path.ts";
import { kebabCase } from "../../util/kebab.ts";
import { mcpErrors } from "./errors.ts";
import type { McpServerOptions } from "./server-record.ts";

export type CallbackOptions = Pick<McpServerOptions, "callbackHost" | "callbackPath" | "agentsPrefix">;

/** Undefined where neither the caller nor a client that caused the call says at which host the agent is. */
export function callbackUrlOf(agent: object, options: CallbackOptions): string | undefined {
  const current = currentUrl(agent);
  const origin = options.callbackHost === undefined ? current?.origin : originOf(options.callbackHost);
  if (origin === undefined) return undefined;
  if (options.callbackPath !== undefined) return `${origin}/${options.callbackPath.replace(/^\/+/, "")}`;
  if (!runtimeOf(agent).options.sendIdentityOnConnect) {
    // The address holds the agent's name, which this class keeps from its clients.
    if (options.callbackHost === undefined) return undefined;
    throw mcpErrors.McpOptionsError(
      "callbackHost needs a callbackPath here: the agent's own address would show its name to the server.",
      "The class has sendIdentityOnConnect: false. Route the callbackPath to the agent."
    );
  }
  const known = options.agentsPrefix === undefined ? current && ownAddress(agent, current) : undefined;
  return `${origin}${known ?? defaultAddress(agent, options.agentsPrefix ?? "agents")}/callback`;
}

/** The address at which a client reached this agent. */
function currentUrl(agent: object): URL | undefined {
  const { agent: running, request, connection } = currentContext();
  if (running !== agent) return undefined;
  const text = request?.url ?? connection?.uri;
  if (text === undefined || text === null || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  // A socket's address may have the scheme of sockets.
  if (url.protocol === "ws:" || url.protocol === "wss:") url.protocol = url.protocol === "ws:" ? "http:" : "https:";
  return url;
}

function originOf(host: string): string {
  const url = URL.canParse(host) ? new URL(host) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw mcpErrors.McpOptionsError('callbackHost must be an origin such as "https://app.example.com".');
  }
  return url.origin;
}

/** As the client spelled it, with the application's own prefix and the binding's name. A sub-agent does not see its own. */
function ownAddress(agent: object, url: URL): string | undefined {
  const { identity, env } = runtimeOf(agent);
  if (identity.isFacet) return undefined;
  const below = pathBelowAgent(url.href, { identity, env });
  if (below === undefined) return undefined;
  // "/" also stands for nothing at all.
  const { pathname } = url;
  return pathname.endsWith(below) ? pathname.slice(0, pathname.length - below.length) : pathname;
}

function defaultAddress(agent: object, prefix: string): string {
  const { selfPath } = runtimeOf(agent).identity;
  const steps = selfPath.map(({ className, name }) => `${kebabCase(className)}/${encodeURIComponent(name)}`);
  return `/${prefix.replaceAll(/^\/+|\/+$/g, "")}/${steps.join(`/${SUB_PREFIX}/`)}`;
}
