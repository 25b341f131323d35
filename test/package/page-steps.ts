// A page as a person follows it: a section's commands and files, in their order.
import { readFileSync } from "node:fs";
import { join } from "node:path";

export type PageStep =
  { do: "run"; commands: readonly string[] } | { do: "write" | "append"; file: string; text: string };

/** The steps of one section. A block is a file when the line before it begins with the file's name, and added to it when that says "one more line". */
export function pageSteps(repository: string, page: string, heading: string): PageStep[] {
  const section = sectionsOf(repository, page).find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`${page} has no section "${heading}".`);
  return [...section.matchAll(/(.*)\n\n```(\w+)\n([\s\S]*?)```/g)].map(([, before = "", language, text = ""]) => {
    if (language === "sh") return { do: "run", commands: text.trim().split("\n") };
    const file = /^`([\w.]+)`/.exec(before)?.[1];
    if (file === undefined) throw new Error(`No file name before a block of "${heading}": ${before}`);
    return { do: /one more line/.test(before) ? "append" : "write", file, text };
  });
}

/** Headings of the sections that have something to do. */
export function headingsWithSteps(repository: string, page: string): string[] {
  return sectionsOf(repository, page)
    .filter((part) => part.includes("\n```"))
    .map((part) => part.slice(0, part.indexOf("\n")));
}

function sectionsOf(repository: string, page: string): string[] {
  return readFileSync(join(repository, page), "utf8").split(/^## /m).slice(1);
}
