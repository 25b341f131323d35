// `everthink migrate`: what moving a project to everthink changes in its files, and what becomes of its local data.
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { formatMigration, isWholeMigration, migrate, migrationValue } from "../../framework/migrate/migrate.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import type { ParsedArguments } from "../command-line.ts";

export async function runMigrate(parsed: ParsedArguments, { cwd, print, note }: CliContext): Promise<number> {
  const folder = resolve(cwd, parsed.positionals[0] ?? ".");
  const data = parsed.list("data").map((path) => resolve(cwd, path));
  for (const path of [folder, ...data]) requireFolder(path);
  if (data.length === 0 && !existsSync(join(folder, "package.json"))) {
    throw new CommandError(
      `There is no package.json in ${folder}.`,
      "Name the project: everthink migrate <folder>. To try data only: everthink migrate --data <folder>"
    );
  }
  const result = await migrate({
    folder,
    isWritten: parsed.flag("write") === true && parsed.flag("dry-run") !== true,
    data: data.length === 0 ? undefined : data,
    note
  });
  print(parsed.flag("json") ? JSON.stringify(migrationValue(result), null, 2) : formatMigration(result));
  return isWholeMigration(result) ? 0 : 1;
}

function requireFolder(path: string): void {
  if (existsSync(path) && statSync(path).isDirectory()) return;
  throw new CommandError(`There is no folder ${path}.`, "See: everthink migrate --help");
}
