// Names under which the model knows the tools of MCP servers. A name follows from the server's id and the tool's own
// name alone: if it depended on what else is listed, a server could add a tool and so move an approved call to it.
// Pure.

/** The shortest limit among providers. */
const MAX_NAME_CHARS = 64;
const HASH_CHARS = 8;
/** Of a name that ends in a hash. */
const CUT_NAME_CHARS = MAX_NAME_CHARS - HASH_CHARS - 1;

/** `tool_<id without dashes>_<tool>`; where that does not fit what providers accept, cut to it and distinguished by a hash. */
export function toolKey(serverId: string, toolName: string): string {
  const wanted = `tool_${serverId.replaceAll("-", "")}_${toolName}`;
  const allowed = wanted.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  if (allowed === wanted && allowed.length <= MAX_NAME_CHARS) return allowed;
  return `${allowed.slice(0, CUT_NAME_CHARS)}_${hash(`${serverId}\n${toolName}`)}`;
}

/** Whether a tool of this server may have the name; true for all that it has. */
export function isToolKeyOf(serverId: string, key: string): boolean {
  return key.startsWith(keyStart(serverId));
}

/** Whether a tool of one server can have the name of another's, as the tool `b_x` of `a` and the tool `x` of `a_b`. */
export function canShareToolKeys(serverId: string, otherId: string): boolean {
  const [one, other] = [keyStart(serverId), keyStart(otherId)];
  return one.startsWith(other) || other.startsWith(one);
}

/** What the names of all tools of a server begin with. */
function keyStart(serverId: string): string {
  return `tool_${serverId.replaceAll("-", "")}_`.slice(0, CUT_NAME_CHARS);
}

/** FNV-1a: not against attackers, who could only confuse tools of their own server. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value.toString(16).padStart(HASH_CHARS, "0");
}
