// Which agent a command talks to: from its options and the project's manifest to an address. Pure.
import { findAgent, type RoutedManifest } from "../framework/server-entry/agent-path.ts";
import { kebabCase } from "../util/kebab.ts";
import { closest } from "./closest.ts";
import { usageError, type ParsedArguments } from "./command-line.ts";

export interface AgentTarget {
  readonly host: string;
  readonly protocol: "ws" | "wss";
  /** `<prefix>/<agent>/<instance>`. */
  readonly basePath: string;
  readonly query: Readonly<Record<string, string>>;
  /** For a server that does not answer: what was probably meant. */
  readonly hint?: string;
}

const DEFAULT_HOST = "localhost:5173";
export const DEFAULT_ORIGIN = `http://${DEFAULT_HOST}`;
const DEFAULT_INSTANCE = "default";

/** `usual` is where the server is without an option that says so. Throws CommandUsageError. */
export function agentTarget(parsed: ParsedArguments, manifest: RoutedManifest, usual = DEFAULT_ORIGIN): AgentTarget {
  const [agent, instance = DEFAULT_INSTANCE] = parsed.positionals;
  if (agent === undefined) {
    const ids = manifest.agents.filter(({ kind }) => kind === "top-level").map(({ id }) => id);
    const known = ids.length > 0 ? `Agents of this project: ${ids.join(", ")}.` : "Give its id, class or binding.";
    throw usageError(parsed.name, `Which agent? ${known}`);
  }
  const at = `${agentSegment(manifest, agent)}/${encodeURIComponent(instance)}`;
  return { ...addressTarget(parsed, manifest, { at, usual }), ...unknownAgent(manifest, agent) };
}

interface AgentAddress {
  /** `<agent>/<instance>`, and for a sub-agent what follows it. */
  readonly at: string;
  /** As for `agentTarget`. */
  readonly usual: string;
}

/** Of an agent that is named by its address. */
export function addressTarget(
  parsed: ParsedArguments,
  manifest: RoutedManifest,
  { at, usual }: AgentAddress
): AgentTarget {
  const { protocol, host } = new URL(originOf(parsed, usual));
  const token = parsed.text("token");
  return {
    host,
    protocol: protocol === "https:" ? "wss" : "ws",
    basePath: `/${routePrefixSegments(parsed, manifest)}/${at}`,
    query: { ...queryOf(parsed), ...(token !== undefined && { token }) }
  };
}

/** It may still be an agent of the server. */
function unknownAgent(manifest: RoutedManifest, agent: string): { hint?: string } {
  const known = manifest.agents.filter(({ kind }) => kind === "top-level").map(({ id }) => id);
  if (known.length === 0 || findAgent(manifest, agent)) return {};
  const meant = closest(agent, known);
  const question = meant === undefined ? `It has: ${known.join(", ")}.` : `Did you mean ${meant}?`;
  return { hint: `This project has no agent "${agent}". ${question}` };
}

/** Without query, as http(s): what the client takes. */
export function targetUrl({ protocol, host, basePath }: AgentTarget): string {
  return `${protocol === "wss" ? "https" : "http"}://${host}${basePath}`;
}

/** What stands in the address: the id of an agent of the project, or the name as given. */
export function agentSegment(manifest: RoutedManifest, agent: string): string {
  return findAgent(manifest, agent)?.id ?? kebabCase(agent);
}

/** Without slashes at its ends. */
export function routePrefixSegments(parsed: ParsedArguments, manifest: RoutedManifest): string {
  const prefix = parsed.text("route-prefix") ?? manifest.routePrefix ?? "/agents";
  return prefix.split("/").filter(Boolean).join("/");
}

/** Whether an option says where the server is. */
export function namesServer(parsed: ParsedArguments): boolean {
  return ["url", "host", "protocol"].some((name) => parsed.text(name) !== undefined);
}

/** As http(s). Throws CommandUsageError. */
export function originOf(parsed: ParsedArguments, usual = DEFAULT_ORIGIN): string {
  if (!namesServer(parsed)) return usual;
  const protocol = parsed.text("protocol") ?? "ws";
  if (protocol !== "ws" && protocol !== "wss") {
    throw usageError(parsed.name, `--protocol is ws or wss, not "${protocol}".`);
  }
  const url = parsed.text("url");
  const host = parsed.text("host") ?? DEFAULT_HOST;
  const given = url?.replace(/^ws(s?):/i, "http$1:") ?? `${protocol === "wss" ? "https" : "http"}://${host}`;
  if (URL.canParse(given) && /^https?:$/.test(new URL(given).protocol)) return new URL(given).origin;
  const [option, example] = url === undefined ? ["host", DEFAULT_HOST] : ["url", "https://app.example.com"];
  throw usageError(parsed.name, `--${option} takes an address like ${example}, not "${url ?? host}".`);
}

/** Options that lead another command to the same server. Values that may be secret are left for the user to fill in. */
const FOLLOWED = ["url", "host", "protocol", "route-prefix", "root"];

/** The same connection for a command that is suggested, to be put behind its arguments: empty, or beginning with a space. */
export function connectionWords(parsed: Pick<ParsedArguments, "text" | "list">): string {
  const given = FOLLOWED.flatMap((name) => {
    const value = parsed.text(name);
    return value === undefined ? [] : [` --${name} ${shellWord(value)}`];
  });
  const token = parsed.text("token") === undefined ? [] : [" --token …"];
  return [
    ...given,
    ...token,
    ...parsed.list("query").map((text) => ` --query ${shellWord(text.replace(/=.*/s, "="))}…`)
  ].join("");
}

/** As a shell takes it for one word. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function queryOf(parsed: ParsedArguments): Readonly<Record<string, string>> {
  return Object.fromEntries(
    parsed.list("query").map((text): [string, string] => {
      const at = text.indexOf("=");
      if (at < 1) throw usageError(parsed.name, `--query takes key=value, not "${text}".`);
      return [text.slice(0, at), text.slice(at + 1)];
    })
  );
}
