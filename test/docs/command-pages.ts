// The pages of the commands, docs/commands/*.md: the tables that a command's description makes of itself, and the runs that
// a page shows, each a line with `$` and what is printed below it.
import { readFileSync } from "node:fs";
import { allOptions, type CommandDefinition } from "../../src/cli/command-line.ts";
import { argumentRows, optionRows, type HelpRow } from "../../src/cli/help.ts";

export function pageName({ name }: Pick<CommandDefinition, "name">): string {
  return `${name.replaceAll(" ", "-")}.md`;
}

export function readPage(name: string): string {
  return readFileSync(new URL(`../../docs/commands/${name}`, import.meta.url), "utf8");
}

/** As --help lists them. */
export function optionTable(command: CommandDefinition): string {
  const { special } = command;
  const ordinary = optionRows(special === undefined ? allOptions(command) : command.options);
  const rows = [...argumentRows(command.arguments), ...ordinary];
  if (special === undefined) return table("Option", rows);
  return [table("Option", rows), `${special.title}:`, table("Option", optionRows(special.options))].join("\n\n");
}

export function exitCodeTable({ exitCodes }: CommandDefinition): string {
  return table("Exit code", Object.entries(exitCodes));
}

function table(title: string, rows: readonly HelpRow[]): string {
  const cell = (text: string) => text.replaceAll("|", "\\|");
  return [`| ${title} | |`, "|---|---|", ...rows.map(([term, text]) => `| \`${cell(term)}\` | ${cell(text)} |`)].join(
    "\n"
  );
}

export interface ShownRun {
  /** Without `npx everthink`. */
  readonly args: readonly string[];
  /** Both outputs, as a terminal shows them. */
  readonly output: string;
}

/** Runs of a page in order. */
export function shownRuns(page: string): ShownRun[] {
  const blocks = [...page.matchAll(/```console\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((run) => {
        const [line = "", ...output] = run.split("\n");
        const [, , ...args] = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
        return { args, output: output.join("\n") };
      })
  );
}

/** What differs from run to run: ids of calls, ports, times, and folders of the machine. */
export function withoutChance(text: string): string {
  return text
    .replaceAll(/\b(call|action-execution)[-_][\w-]+/g, "$1-…")
    .replaceAll(/(localhost|127\.0\.0\.1):\d+/g, "$1:…")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replaceAll(/ +$/gm, "");
}
