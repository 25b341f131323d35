// Where an agent's own address ends in a URL. Routes of the package lie directly below it, so that a path of the user's
// that only ends in the same word stays the user's.
import { decodePercent } from "../util/decode-percent.ts";
import { kebabCase } from "../util/kebab.ts";
import type { Identity } from "./identity.ts";

export interface AddressedAgent {
  readonly identity: Pick<Identity, "className" | "name" | "isFacet">;
  /** Its bindings: a route names an agent by one of them. */
  readonly env: unknown;
}

/**
 * What follows the agent's address, starting with "/": "/approvals" for "/agents/room/a/approvals". Undefined when the
 * URL does not hold the address, as with routes of the application's own. A sub-agent is given nothing else.
 */
export function pathBelowAgent(url: string, { identity, env }: AddressedAgent): string | undefined {
  const { pathname } = new URL(url);
  if (identity.isFacet) return pathname;
  const segments = pathname.split("/").slice(1);
  const names = new Set([identity.className, ...Object.keys(env ?? {})].map(kebabCase));
  const end = segments.findIndex(
    (segment, index) => decodedName(segment) === identity.name && names.has(segments[index - 1] ?? "")
  );
  return end === -1 ? undefined : `/${segments.slice(end + 1).join("/")}`;
}

/** As routes read it: a malformed name stands for itself. */
function decodedName(segment: string): string {
  return decodePercent(segment) ?? segment;
}
