// Which agent a command talks to: from its options and the project's manifest to an address. Pure.
import { findAgent, type RoutedManifest } from "../framework/server-entry/agent-path.ts";
import { kebabCase } from "../util/kebab.ts";
import { CommandError, type ParsedArguments } from "./cli-context.ts";

export const CONNECTION_OPTIONS = {
  url: { type: "string" },
  host: { type: "string" },
  protocol: { type: "string" },
  token: { type: "string" },
  query: { type: "string", multiple: true },
  root: { type: "string" },
  "route-prefix": { type: "string" }
} as const;

export const CONNECTION_HELP = `  --url <origin>         where the server is, such as https://app.example.com
  --host <host:port>     localhost:5173, where vite dev is
  --protocol <ws|wss>    ws
  --token <text>         goes into the address as ?token=
  --query <key=value>    goes into the address; may be repeated
  --root <folder>        the project, for the names of its agents
  --route-prefix <path>  /agents
`;

export interface AgentTarget {
  readonly host: string;
  readonly protocol: "ws" | "wss";
  /** `<prefix>/<agent>/<instance>`. */
  readonly basePath: string;
  readonly query: Readonly<Record<string, string>>;
}

const DEFAULT_HOST = "localhost:5173";
const DEFAULT_INSTANCE = "default";

export function agentTarget(parsed: ParsedArguments, manifest: RoutedManifest): AgentTarget {
  const [agent, instance = DEFAULT_INSTANCE] = parsed.positionals;
  if (agent === undefined) {
    const ids = manifest.agents.filter(({ kind }) => kind === "top-level").map(({ id }) => id);
    const known = ids.length > 0 ? `Agents of this project: ${ids.join(", ")}` : "Give its id, class or binding.";
    throw new CommandError("Which agent?", known);
  }
  const prefix = parsed.text("route-prefix") ?? manifest.routePrefix ?? "/agents";
  const segment = findAgent(manifest, agent)?.id ?? kebabCase(agent);
  const token = parsed.text("token");
  return {
    ...origin(parsed),
    basePath: `/${prefix.split("/").filter(Boolean).join("/")}/${segment}/${encodeURIComponent(instance)}`,
    query: { ...Object.fromEntries(parsed.list("query").map(queryPair)), ...(token !== undefined && { token }) }
  };
}

/** Without query, as http(s): what the client takes. */
export function targetUrl({ protocol, host, basePath }: AgentTarget): string {
  return `${protocol === "wss" ? "https" : "http"}://${host}${basePath}`;
}

function origin(parsed: ParsedArguments): Pick<AgentTarget, "host" | "protocol"> {
  const url = parsed.text("url");
  if (url !== undefined) {
    if (!URL.canParse(url))
      throw new CommandError(`--url takes an address like https://app.example.com, not "${url}".`);
    const { host, protocol } = new URL(url);
    return { host, protocol: protocol === "https:" || protocol === "wss:" ? "wss" : "ws" };
  }
  const protocol = parsed.text("protocol") ?? "ws";
  if (protocol !== "ws" && protocol !== "wss") throw new CommandError(`--protocol is ws or wss, not "${protocol}".`);
  return { host: parsed.text("host") ?? DEFAULT_HOST, protocol };
}

function queryPair(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw new CommandError(`--query takes key=value, not "${text}".`);
  return [text.slice(0, at), text.slice(at + 1)];
}
