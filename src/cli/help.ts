// The help texts: of every command in one form, from its description. Pure.
import type { ArgumentDefinition, CommandDefinition, OptionDefinition, OptionTable } from "./command-line.ts";

const LINE_WIDTH = 120;
const INDENT = "  ";
/** A longer term has its text on the next line. */
const WIDEST_TERM = 31;

export type HelpRow = readonly [term: string, text: string];

export function usageOf({ name, arguments: given = [], passesFlagsTo }: CommandDefinition): string {
  const words = given.map((one) => (one.isRequired ? `<${one.name}>` : `[${one.name}]`));
  const passed = passesFlagsTo === undefined ? [] : [`[-- flags for ${passesFlagsTo}]`];
  return ["everthink", name, ...words, "[options]", ...passed].join(" ");
}

export function argumentRows(given: readonly ArgumentDefinition[] = []): HelpRow[] {
  return given.map(({ name, text }) => [name, text]);
}

export function optionRows(options: OptionTable): HelpRow[] {
  return Object.entries(options).map(([name, option]) => [optionTerm(name, option), option.text]);
}

function optionTerm(name: string, { value, short, isOnByDefault }: OptionDefinition): string {
  const long = `--${isOnByDefault ? "no-" : ""}${name}`;
  return `${long}${short === undefined ? "" : `, -${short}`}${value === undefined ? "" : ` <${value}>`}`;
}

const HELP_ROW: HelpRow = ["--help, -h", "this text"];

export function helpOf(command: CommandDefinition): string {
  const codes = Object.entries(command.exitCodes);
  const groups: { title?: string; rows: readonly HelpRow[] }[] = [
    { rows: argumentRows(command.arguments) },
    { rows: [...optionRows(command.options), HELP_ROW] },
    ...(command.special ? [{ title: command.special.title, rows: optionRows(command.special.options) }] : []),
    { title: "Exit codes", rows: codes }
  ];
  const filled = groups.filter(({ rows }) => rows.length > 0);
  const width = columnOf(filled.flatMap(({ rows }) => rows));
  return [
    usageOf(command),
    ...command.description.map((paragraph) => wrap(paragraph, "").join("\n")),
    ["Examples", ...command.examples.map((example) => `${INDENT}npx everthink ${example}`)].join("\n"),
    ...filled.map(({ title, rows }) => [...(title === undefined ? [] : [title]), ...listed(rows, width)].join("\n"))
  ].join("\n\n");
}

export function overviewOf(commands: readonly CommandDefinition[]): string {
  const rows = commands.map(({ name, summary }): HelpRow => [name, summary]);
  return [
    "everthink <command> [options]",
    listed(rows, columnOf(rows)).join("\n"),
    "everthink <command> --help says more; everthink --version."
  ].join("\n\n");
}

function columnOf(rows: readonly HelpRow[]): number {
  return Math.max(...rows.map(([term]) => term.length).filter((length) => length <= WIDEST_TERM)) + INDENT.length;
}

function listed(rows: readonly HelpRow[], width: number): string[] {
  const margin = INDENT + " ".repeat(width);
  return rows.flatMap(([term, text]) => {
    const [first = "", ...more] = wrap(text, margin);
    if (term.length > WIDEST_TERM) return [INDENT + term, first, ...more];
    return [INDENT + term.padEnd(width) + first.trimStart(), ...more];
  });
}

function wrap(text: string, margin: string): string[] {
  const lines: string[] = [];
  let line = margin;
  for (const word of text.split(" ")) {
    if (line.length + 1 + word.length > LINE_WIDTH && line.trim() !== "") {
      lines.push(line);
      line = margin;
    }
    line += `${line === margin ? "" : " "}${word}`;
  }
  return [...lines, line];
}
