// What two features of an agent cannot share.
import { FeatureClashError } from "./errors.ts";
import type { Feature } from "./feature.ts";

/** By what it is called in the error. */
const NAMES_OF: Readonly<Record<string, (feature: Feature) => readonly string[]>> = {
  name: ({ name }) => [name],
  table: ({ tables = [] }) => tables.map(({ name }) => name),
  tool: ({ toolNames = [] }) => toolNames,
  route: ({ routes }) => Object.keys(routes ?? {}),
  role: ({ roles }) => Object.keys(roles ?? {})
};

/** Taken by the package itself. */
const RESERVED_ROUTES: readonly string[] = ["sub", "get-messages"];

/** Throws FeatureClashError when another feature has a name that this one brings. */
export function refuseClashes(feature: Feature, others: readonly Feature[]): void {
  for (const [kind, names] of Object.entries(NAMES_OF)) {
    const taken = new Set(others.flatMap(names));
    const clash = names(feature).find(
      (name) => taken.has(name) || (kind === "route" && RESERVED_ROUTES.includes(name))
    );
    if (clash !== undefined) throw new FeatureClashError(feature.name, { kind, name: clash });
  }
}
