// `everthink add`: another model for a project that is there, as `init` asks for one.
import type { CliContext } from "../cli-context.ts";
import type { ParsedArguments } from "../command-line.ts";
import { askForModel } from "../init/ask.ts";
import { describeModel, modelAnswers, setUpModel } from "../init/model-setup.ts";
import { findProvider, OFFLINE, type ModelAnswers } from "../init/providers.ts";
import { writeVariables } from "../init/variables-file.ts";
import { readVariables, VARIABLES_FILE } from "../../framework/project/declared-variables.ts";
import { requireProject, rootOf } from "../load-project.ts";

export async function runAdd(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const root = rootOf(parsed, context);
  requireProject(root);
  const answers = await answersOf(parsed, context);
  if (answers === undefined) return 1;
  // The model of another provider is none of this one's.
  const known = readVariables(root, VARIABLES_FILE);
  const reset = new Map([
    ...(answers.provider === OFFLINE ? [["MODEL_PROVIDER", OFFLINE] as const] : []),
    ...(known.has("MODEL") && answers.model === undefined ? [["MODEL", ""] as const] : [])
  ]);
  writeVariables(root, reset);
  const result = await setUpModel(root, answers, { context, isChecked: parsed.flag("check-key") ?? true });
  if (parsed.flag("json")) context.print(JSON.stringify(result, null, 2));
  else context.print(describeModel(result));
  context.note("Start again: variables are read at the start.");
  return 0;
}

/** Asked for in a terminal where no option says more than the provider. Throws CommandUsageError. */
async function answersOf(parsed: ParsedArguments, context: CliContext): Promise<ModelAnswers | undefined> {
  const [id = ""] = parsed.positionals;
  const provider = findProvider(id);
  const { terminal, environment } = context;
  const isSaid = ["key-var", "model-name", "model-url", "account"].some((name) => parsed.text(name) !== undefined);
  const isAsked = provider !== undefined && id !== OFFLINE && terminal !== undefined && !isSaid;
  return isAsked ? askForModel(provider, environment, terminal) : modelAnswers(id, parsed, environment);
}
