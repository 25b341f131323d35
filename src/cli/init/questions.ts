// What a user at a terminal is asked. Never reached without one.
import type { CliTerminal } from "../cli-context.ts";
import type { Starter } from "./starters.ts";

export interface ProjectChoice {
  readonly directory: string | undefined;
  readonly template: string | undefined;
}

export interface ProjectQuestion {
  readonly given: ProjectChoice;
  readonly fallback: string;
  readonly starters: readonly Starter[];
}

/** The answers; undefined when the user gave up. */
export async function askForProject(
  { given, fallback, starters }: ProjectQuestion,
  { input, output }: Pick<CliTerminal, "input" | "output">
): Promise<ProjectChoice | undefined> {
  const { cancel, intro, isCancel, select, text } = await import("@clack/prompts");
  const place = { input, output };
  intro("everthink", place);
  const directory =
    given.directory ?? (await text({ message: "Where?", placeholder: fallback, defaultValue: fallback, ...place }));
  if (isCancel(directory)) {
    cancel("Nothing was made.", place);
    return undefined;
  }
  const options = starters.map(({ name, title }) => ({ value: name, label: name, hint: title }));
  const template = given.template ?? (await select({ message: "Which starter?", options, ...place }));
  if (isCancel(template)) {
    cancel("Nothing was made.", place);
    return undefined;
  }
  return { directory, template };
}
