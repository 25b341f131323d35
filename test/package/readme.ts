// The README as a person follows it: a section's commands and files, in their order.
import { readFileSync } from "node:fs";
import { join } from "node:path";

export type ReadmeStep = { do: "run"; commands: readonly string[] } | { do: "write"; file: string; text: string };

/** The steps of one section. A block is a file when the line before it begins with the file's name. */
export function readmeSteps(repository: string, heading: string): ReadmeStep[] {
  const readme = readFileSync(join(repository, "README.md"), "utf8");
  const section = readme.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`The README has no section "${heading}".`);
  return [...section.matchAll(/(.*)\n\n```(\w+)\n([\s\S]*?)```/g)].map(([, before = "", language, text = ""]) => {
    if (language === "sh") return { do: "run", commands: text.trim().split("\n") };
    const file = /^`([\w.]+)`/.exec(before)?.[1];
    if (file === undefined) throw new Error(`No file name before a block of "${heading}": ${before}`);
    return { do: "write", file, text };
  });
}
