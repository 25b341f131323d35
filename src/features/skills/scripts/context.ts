// The second argument of a script in JavaScript or TypeScript.
import type { SkillDescriptor } from "../skill.ts";

/**
 * The second argument of a script's default export.
 *
 * @example
 * export default async function run(input: { title: string }, ctx: SkillRunContext) {
 *   const guide = ctx.files["references/style-guide.md"];
 *   await ctx.output.writeFile("notes.md", `# ${input.title}\n\n${guide}`);
 *   return { ok: true };
 * }
 */
export interface SkillRunContext {
  readonly skill: SkillDescriptor;
  /** Text files of the skill, by relative path. */
  readonly files: Readonly<Record<string, string>>;
  /** The workspace, as far as the runner allows. */
  readonly workspace: {
    readFile(path: string): Promise<string | null>;
    listFiles(path?: string): Promise<string[]>;
    glob(pattern: string): Promise<string[]>;
    stat(path: string): Promise<{ type: string; size: number } | null>;
    writeFile(path: string, content: string): Promise<void>;
  };
  /** The tools that the runner was given: `tools.call("name", input)` or `tools.name(input)`. */
  readonly tools: { call(name: string, input?: unknown): Promise<unknown> } & Readonly<
    Record<string, (input?: unknown) => Promise<unknown>>
  >;
  /** Writes files that are part of the result: at most 20, each of 64,000 bytes. A value that is not a text is written as JSON. */
  readonly output: { writeFile(name: string, content: unknown): Promise<void> };
}
