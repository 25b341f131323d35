// `everthink docs`: the documentation of the installed version, page by page.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CommandError, type CliContext } from "../cli-context.ts";
import { closest } from "../closest.ts";
import type { ParsedArguments } from "../command-line.ts";

/** Pages that are named for a word that is no page. */
const MAX_FOUND = 10;

export async function runDocs(parsed: ParsedArguments, { place, print }: CliContext): Promise<number> {
  const pages = listPages(place.docsFolder);
  const [topic] = parsed.positionals;
  const isJson = parsed.flag("json");
  const json = (value: unknown) => print(JSON.stringify(value, null, 2));
  const page = (name: string) => ({ name, title: titleOf(read(place.docsFolder, name)) });
  if (topic === undefined) {
    if (isJson) json({ pages: pages.map(page) });
    else print(table(pages.map(page)));
    return 0;
  }
  const wanted = topic.replace(/^docs\/|\.md$/g, "");
  const name = [wanted, `commands/${wanted}`].find((one) => pages.includes(one));
  if (name !== undefined) {
    const text = read(place.docsFolder, name).trimEnd();
    if (isJson) json({ ...page(name), text });
    else print(text);
    return 0;
  }
  const found = pagesWith(place.docsFolder, pages, topic);
  if (found.length === 0) {
    const meant = closest(wanted, pages);
    const hint = meant === undefined ? "All pages: everthink docs" : `Did you mean ${meant}? All pages: everthink docs`;
    throw new CommandError(`There is no page "${topic}", and none has the word.`, hint);
  }
  if (isJson) json({ pages: found.map(page) });
  else print([`There is no page "${topic}". Pages with the word:`, ...found.map((one) => `  ${one}`)].join("\n"));
  return 0;
}

interface PageTitle {
  readonly name: string;
  readonly title: string;
}

function table(pages: readonly PageTitle[]): string {
  const width = Math.max(...pages.map(({ name }) => name.length));
  return pages.map(({ name, title }) => `${name.padEnd(width)}  ${title}`).join("\n");
}

/** Without ".md", those of commands last. */
function listPages(folder: string): string[] {
  if (!existsSync(folder)) throw new CommandError("This installation of everthink has no documentation.");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    // A built site is beside the pages in the repository.
    .filter((name) => name.endsWith(".md") && !name.startsWith("dist/"))
    .map((name) => name.slice(0, -".md".length));
  const isOfCommand = (name: string) => Number(name.includes("/"));
  return names.toSorted((one, other) => isOfCommand(one) - isOfCommand(other) || (one < other ? -1 : 1));
}

const read = (folder: string, name: string) => readFileSync(join(folder, `${name}.md`), "utf8");

function titleOf(text: string): string {
  return /^# (.+)/.exec(text)?.[1]?.replaceAll("`", "") ?? "";
}

/** Those with the most places first. */
function pagesWith(folder: string, pages: readonly string[], words: string): string[] {
  const wanted = words.toLowerCase();
  return pages
    .map((name) => ({ name, places: read(folder, name).toLowerCase().split(wanted).length - 1 }))
    .filter(({ places }) => places > 0)
    .toSorted((one, other) => other.places - one.places)
    .slice(0, MAX_FOUND)
    .map(({ name }) => name);
}
