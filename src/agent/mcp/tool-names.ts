// Names under which the model knows the tools of MCP servers. A name follows from the server's id and the tool's own
// name alone: if it depended on what else is listed, a server could add a tool and so move an approved call to it.
// Pure.

/** The shortest limit among providers. */
const MAX_NAME_CHARS = 64;

/** `tool_<id without dashes>_<tool>`; where that does not fit what providers accept, cut to it and told apart by a hash. */
export function toolKey(serverId: string, toolName: string): string {
  const wanted = `tool_${serverId.replaceAll("-", "")}_${toolName}`;
  const allowed = wanted.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  if (allowed === wanted && allowed.length <= MAX_NAME_CHARS) return allowed;
  const mark = `_${hash(`${serverId}\n${toolName}`)}`;
  return `${allowed.slice(0, MAX_NAME_CHARS - mark.length)}${mark}`;
}

/** 8 characters. FNV-1a: not against attackers, who could only confuse tools of their own server. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value.toString(16).padStart(8, "0");
}
