// `everthink migrate`: what moving a project to everthink changes in its files, and what becomes of its local data.
import { resolve } from "node:path";
import { migrate } from "../../framework/migrate/migrate.ts";
import type { CliContext } from "../cli-context.ts";
import type { ParsedArguments } from "../command-line.ts";

export async function runMigrate(parsed: ParsedArguments, { cwd, print, note }: CliContext): Promise<number> {
  const data = parsed.list("data").map((path) => resolve(cwd, path));
  const isWhole = await migrate({
    folder: resolve(cwd, parsed.positionals[0] ?? "."),
    isWritten: parsed.flag("write") === true && parsed.flag("dry-run") !== true,
    data: data.length === 0 ? undefined : data,
    print,
    note
  });
  return isWhole ? 0 : 1;
}
