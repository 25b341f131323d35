// The three tools by which a model uses skills. What a model can do wrong is answered with a sentence; nothing a source or
// a script throws leaves the call.
import { jsonSchema, type ModelMessage, type ToolSet } from "ai";
import { errorMessage } from "../../util/errors.ts";
import { isObject } from "../../util/json.ts";
import { truncateToolOutput } from "../../util/truncate-value.ts";
import { printSkill } from "./activation.ts";
import { readResourceText } from "./read-resource.ts";
import type { SkillRegistry } from "./registry.ts";
import { runSkillScript, splitArtifacts } from "./run-script.ts";
import type { SkillScriptRunner } from "./scripts/script.ts";
import type { SkillContent } from "./skill.ts";

export const ACTIVATE_SKILL = "activate_skill";
export const READ_SKILL_RESOURCE = "read_skill_resource";
export const RUN_SKILL_SCRIPT = "run_skill_script";

/** The most characters of a script's result, its files apart. */
const MAX_RESULT_CHARS = 64_000;

export interface SkillToolsOptions {
  /** Called when the model is given the instructions of a skill. A throw fails the call. */
  readonly onActivate?: (skill: SkillContent, toolCallId: string) => void;
}

/** The options that the SDK gives an execution, as far as they are used. */
interface CallOptions {
  readonly toolCallId: string;
  readonly messages: readonly ModelMessage[];
  readonly abortSignal?: AbortSignal;
}

export function skillTools(
  registry: SkillRegistry,
  runner: SkillScriptRunner | null,
  { onActivate }: SkillToolsOptions
): ToolSet {
  const names = registry.skills.map(({ name }) => name);
  return {
    [ACTIVATE_SKILL]: {
      description: "Gives you the instructions of a skill and lists its files. Call it before a task the skill is for.",
      inputSchema: objectSchema({ name: { type: "string", enum: names, description: "The skill" } }, ["name"]),
      execute: async (input: Record<string, unknown>, { toolCallId }: CallOptions) => {
        const name = readText(input, "name");
        const skill = await load(registry, name);
        if (typeof skill === "string") return skill;
        onActivate?.(skill, toolCallId);
        return printSkill(skill);
      }
    },
    [READ_SKILL_RESOURCE]: {
      description:
        "Reads a file of a skill, by the path that activate_skill lists. Without a name, the path begins with the skill: <skill>/<path>.",
      inputSchema: objectSchema(
        {
          name: { type: "string", description: "The skill" },
          path: { type: "string", description: "Relative to the skill" },
          offset: { type: "integer", minimum: 1, description: "First line to read" },
          limit: { type: "integer", minimum: 1, description: "Number of lines" }
        },
        ["path"]
      ),
      execute: async (input: Record<string, unknown>) =>
        await readResourceText(registry, {
          name: typeof input["name"] === "string" && input["name"] !== "" ? input["name"] : undefined,
          path: readText(input, "path"),
          offset: readNumber(input["offset"]),
          limit: readNumber(input["limit"])
        })
    },
    ...(runner && { [RUN_SKILL_SCRIPT]: scriptTool(registry, runner) })
  };
}

function scriptTool(registry: SkillRegistry, runner: SkillScriptRunner): ToolSet[string] {
  return {
    description: "Runs a script of a skill, one of the files below scripts/ that activate_skill lists.",
    inputSchema: objectSchema(
      {
        name: { type: "string", description: "The skill" },
        path: { type: "string", description: "The script, such as scripts/run.ts" },
        input: { description: "What the script is given; any JSON" }
      },
      ["name", "path"]
    ),
    execute: async (input: Record<string, unknown>, options: CallOptions) => {
      const { toolCallId, messages, abortSignal: signal } = options;
      const call = { name: readText(input, "name"), path: readText(input, "path"), input: input["input"] ?? {} };
      try {
        const result = await runSkillScript(registry, runner, { ...call, toolCallId, messages, signal });
        const { rest, files } = splitArtifacts(result);
        const bounded = truncateToolOutput(rest, MAX_RESULT_CHARS);
        return files ? { ...(isObject(bounded) ? bounded : { result: bounded }), outputFiles: files } : bounded;
      } catch (error) {
        signal?.throwIfAborted();
        return `Skill script failed: ${errorMessage(error)}`.slice(0, MAX_RESULT_CHARS);
      }
    }
  };
}

/** Loads a skill, or says why it cannot be loaded. */
async function load(registry: SkillRegistry, name: string): Promise<SkillContent | string> {
  try {
    return (await registry.loadSkill(name)) ?? `Skill not found: ${name.slice(0, 128)}`;
  } catch (error) {
    return `The skill "${name.slice(0, 128)}" could not be loaded: ${errorMessage(error)}`;
  }
}

function objectSchema(properties: Record<string, object>, required: string[]) {
  return jsonSchema<Record<string, unknown>>(
    { type: "object", properties, required, additionalProperties: false } as Parameters<typeof jsonSchema>[0],
    {
      validate: (value) => {
        const missing = isObject(value) ? required.find((name) => typeof value[name] !== "string") : "input";
        if (!isObject(value) || missing !== undefined)
          return { success: false, error: new TypeError(`"${missing}" must be a text.`) };
        const names: unknown = Reflect.get(properties["name"] ?? {}, "enum");
        return Array.isArray(names) && !names.includes(value["name"])
          ? { success: false, error: new TypeError(`"name" must be one of the skills: ${names.join(", ")}.`) }
          : { success: true, value };
      }
    }
  );
}

function readText(input: Record<string, unknown>, name: string): string {
  return typeof input[name] === "string" ? input[name] : "";
}

/** Reads a number, which models write as a text at times. */
function readNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isInteger(number) && number >= 1 ? number : undefined;
}
