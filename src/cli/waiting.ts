// Which agents are asked whether they wait: those that the command names, or an address that lists them.
import { isAgentAddress, type NamedAgentsInit } from "../framework/studio/named-agents.ts";
import { usageError, type ParsedArguments } from "./command-line.ts";
import { queryOf } from "./target.ts";

/** Undefined: none was named. Throws CommandUsageError. */
export function namedOf(parsed: ParsedArguments, origin: string): Omit<NamedAgentsInit, "token"> | undefined {
  const addresses = parsed.list("at").map((text) => text.replaceAll(/^\/+|\/+$/g, ""));
  const wrong = addresses.find((at) => !isAgentAddress(at));
  if (wrong !== undefined) {
    throw usageError(parsed.name, `--at takes an address like assistant/main, not "${wrong}".`);
  }
  const list = parsed.text("waiting-list");
  if (list === undefined) return addresses.length === 0 ? undefined : { addresses, listedAt: undefined };
  // The token goes there: another server's address does not get it by a path.
  const url = URL.canParse(list, origin) ? new URL(list, origin) : undefined;
  if (url?.origin !== origin) {
    throw usageError(parsed.name, `--waiting-list takes a path of the server like /waiting, not "${list}".`);
  }
  for (const [name, value] of Object.entries(queryOf(parsed))) url.searchParams.set(name, value);
  return { addresses, listedAt: url };
}
