// The model of a new project: from arguments or answers to .dev.vars, and whether the provider takes it. A provider that
// refuses is reported and stops nothing: the project is there, and the key can be changed in its file.
import { withProgress } from "../progress.ts";
import type { CliContext } from "../cli-context.ts";
import { usageError, type ParsedArguments } from "../command-line.ts";
import { checkModel, findProvider, OFFLINE, PROVIDERS, variablesOf, wrongKey, type ModelAnswers } from "./providers.ts";
import { writeVariables } from "./variables-file.ts";

export interface ModelResult {
  readonly provider: string;
  readonly state: "works" | "refused" | "unchecked" | "without-key" | "offline";
  /** What the provider said against it. */
  readonly problem: string | null;
}

/** As the arguments have it; undefined where they name no model. Throws CommandUsageError. */
export function modelOf(parsed: ParsedArguments, environment: CliContext["environment"]): ModelAnswers | undefined {
  const id = parsed.text("model");
  return id === undefined ? undefined : modelAnswers(id, parsed, environment);
}

/** Of one provider. Throws CommandUsageError. */
export function modelAnswers(
  id: string,
  parsed: ParsedArguments,
  environment: CliContext["environment"]
): ModelAnswers {
  const provider = findProvider(id);
  if (provider === undefined) {
    throw usageError(parsed.name, `A model is one of ${PROVIDERS.map((one) => one.id).join(", ")}, not "${id}".`);
  }
  const answers = { url: parsed.text("model-url"), model: parsed.text("model-name"), account: parsed.text("account") };
  const missing = provider.asks.find((name) => !answers[name]);
  if (missing !== undefined) {
    const option = { url: "--model-url", model: "--model-name", account: "--account" }[missing];
    throw usageError(parsed.name, `${id} needs ${option}.`);
  }
  if (answers.url !== undefined && !/^https?:$/.test(protocolOf(answers.url))) {
    throw usageError(parsed.name, `--model-url takes an address like http://localhost:11434/v1, not "${answers.url}".`);
  }
  const named = parsed.text("key-var");
  const key = environment[named ?? provider.keyVariable ?? ""]?.trim();
  if (named !== undefined && !key) throw usageError(parsed.name, `The variable ${named} is not set.`);
  const wrong = key ? wrongKey(key) : undefined;
  if (wrong !== undefined) throw usageError(parsed.name, wrong);
  return { provider: id, ...answers, key: key || undefined, isKeyOfShell: named === undefined };
}

function protocolOf(url: string): string {
  return URL.canParse(url) ? new URL(url).protocol : "";
}

export async function setUpModel(
  folder: string,
  answers: ModelAnswers | undefined,
  { context, isChecked }: { readonly context: CliContext; readonly isChecked: boolean }
): Promise<ModelResult> {
  if (answers === undefined || answers.provider === OFFLINE)
    return { provider: OFFLINE, state: "offline", problem: null };
  const { provider } = answers;
  writeVariables(folder, variablesOf(answers));
  const { isKeyOptional, title = provider } = findProvider(provider) ?? {};
  if (answers.key === undefined && !isKeyOptional) return { provider, state: "without-key", problem: null };
  if (!isChecked) return { provider, state: "unchecked", problem: null };
  const asked = checkModel(answers, context.signal);
  const problem = (await withProgress(`Asking ${title} whether the key works`, context, asked)) ?? null;
  return { provider, state: problem === null ? "works" : "refused", problem };
}

export function describeModel({ provider, state, problem }: ModelResult): string {
  const { title = provider, keyVariable = "" } = findProvider(provider) ?? {};
  const name = provider === "compatible" ? "The server" : title;
  switch (state) {
    case "works":
      return `${name} answers, and has the model.`;
    case "refused":
      return `${problem} What you gave is in .dev.vars all the same: change it there.`;
    case "unchecked":
      return `${name} is set up in .dev.vars, and was not asked.`;
    case "without-key":
      return `${name} needs a key: put ${keyVariable}=… into .dev.vars. Until then the offline model answers.`;
    case "offline":
      return "The offline model answers. For a real one: .dev.vars.example says which variables to set in .dev.vars.";
  }
}
