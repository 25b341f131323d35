// The file with the MCP servers of an agent, src/<agent>-mcp.ts: made with the first one, and given each further one. Pure.

/** Undefined: it has another shape than it was made with. The same text: the server is there. */
export function withServer(
  text: string | undefined,
  { id, url, agent }: { readonly id: string; readonly url: string; readonly agent: string }
): string | undefined {
  const known = text ?? emptyFile(agent);
  if (known.includes(`url: ${JSON.stringify(url)}`)) return known;
  if (new RegExp(`^\\s*"?${id}"?: \\{`, "m").test(known)) return undefined;
  const end = known.indexOf("\n};");
  if (end === -1) return undefined;
  const list = known.slice(0, end);
  const comma = /[{,]\s*$/.test(list) ? "" : ",";
  const key = /^[a-z_]\w*$/.test(id) ? id : JSON.stringify(id);
  return `${list}${comma}\n  ${key}: { name: ${JSON.stringify(id)}, url: ${JSON.stringify(url)} }${known.slice(end)}`;
}

function emptyFile(agent: string): string {
  return `// The MCP servers of the agent "${agent}", by the name that their tools have in front. A server that is taken out of this list stays
// known to agents that have it: this.mcp.removeServer(id) in onStart() removes it.

export const MCP_SERVERS: Readonly<Record<string, { readonly name: string; readonly url: string }>> = {
};
`;
}

/** Lower case, digits, "-" and "_", at most 64 characters: the host without what all have. */
export function serverId(url: URL): string {
  const words = url.hostname
    .split(".")
    .filter((word) => !["www", "mcp", "api", "com", "org", "net", "dev", "io"].includes(word));
  const name = (words[0] ?? url.hostname).toLowerCase().replaceAll(/[^a-z\d_-]/g, "-");
  return name.slice(0, 64) || "server";
}
