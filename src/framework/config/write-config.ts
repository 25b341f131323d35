// Writes what the agents need into the text of a Wrangler file. Comments, order and everything the user wrote stay; only
// values that are missing are added.
import { applyEdits, modify } from "jsonc-parser";
import type { ThinkWorkerConfig } from "./worker-config.ts";

const FORMATTING = { insertSpaces: true, tabSize: 2, eol: "\n" };
/** In the order in which a new file has them. */
const WRITTEN: readonly (keyof ThinkWorkerConfig & string)[] = [
  "name",
  "main",
  "compatibility_date",
  "compatibility_flags",
  "durable_objects",
  "migrations",
  "workflows",
  "assets"
];

/** The text of a wrangler.json(c) with the merged values; `user` is what the text says now. */
export function writeWorkerConfig(text: string, user: ThinkWorkerConfig, merged: ThinkWorkerConfig): string {
  const bindings = added(user.durable_objects?.bindings, merged.durable_objects?.bindings);
  const migrations = added(user.migrations, merged.migrations);
  const flags = added(user.compatibility_flags, merged.compatibility_flags);
  const first = merged.assets?.run_worker_first;
  const userFirst = user.assets?.run_worker_first;
  let result = text.trim() === "" ? "{}\n" : text;
  const set = (path: (string | number)[], value: unknown, isArrayInsertion = false) => {
    result = applyEdits(result, modify(result, path, value, { formattingOptions: FORMATTING, isArrayInsertion }));
  };
  for (const key of WRITTEN) if (user[key] === undefined && merged[key] !== undefined) set([key], merged[key]);
  if (user.durable_objects !== undefined)
    append(["durable_objects", "bindings"], user.durable_objects.bindings, bindings);
  if (user.migrations !== undefined) append(["migrations"], user.migrations, migrations);
  if (user.workflows !== undefined) append(["workflows"], user.workflows, added(user.workflows, merged.workflows));
  if (user.compatibility_flags !== undefined) append(["compatibility_flags"], user.compatibility_flags, flags);
  if (user.assets !== undefined && Array.isArray(first)) {
    append(["assets", "run_worker_first"], Array.isArray(userFirst) ? userFirst : undefined, added(userFirst, first));
  }
  return result;

  function append(path: string[], present: readonly unknown[] | undefined, values: readonly unknown[]): void {
    if (present === undefined && values.length > 0) set(path, values);
    else values.forEach((value, index) => set([...path, (present?.length ?? 0) + index], value, true));
  }
}

/** What the merge put into a list besides the user's own. */
function added(user: unknown, merged: readonly unknown[] | undefined): readonly unknown[] {
  const own: readonly unknown[] = Array.isArray(user) ? user : [];
  return (merged ?? []).filter((one) => !own.includes(one));
}
