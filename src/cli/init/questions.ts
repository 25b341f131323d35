// What a person at a terminal is asked. Never reached without one.
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

/** The answers; undefined when the person gave up. */
export async function askForProject({
  given,
  fallback,
  starters
}: ProjectQuestion): Promise<ProjectChoice | undefined> {
  const { cancel, intro, isCancel, select, text } = await import("@clack/prompts");
  intro("everthink");
  const directory =
    given.directory ?? (await text({ message: "Where?", placeholder: fallback, defaultValue: fallback }));
  if (isCancel(directory)) {
    cancel("Nothing was made.");
    return undefined;
  }
  const options = starters.map(({ name, title }) => ({ value: name, label: name, hint: title }));
  const template = given.template ?? (await select({ message: "Which starter?", options }));
  if (isCancel(template)) {
    cancel("Nothing was made.");
    return undefined;
  }
  return { directory, template };
}
