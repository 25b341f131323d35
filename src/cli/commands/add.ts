// `everthink add`: for a project that is there: another model, as `init` asks for one, a messenger, an MCP server, skills for
// coding agents, or the chat page's parts as sources.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { addMessenger, addServer, addSkills, isListed, type Addition } from "../add/add-capability.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import { usageError, type ParsedArguments } from "../command-line.ts";
import { askForModel } from "../init/ask.ts";
import { describeModel, modelAnswers, setUpModel } from "../init/model-setup.ts";
import { findProvider, OFFLINE, type ModelAnswers } from "../init/providers.ts";
import { writeVariables } from "../init/variables-file.ts";
import { writeNew } from "../init/write-files.ts";
import { readVariables, VARIABLES_FILE } from "../../framework/project/declared-variables.ts";
import { requireProject, rootOf } from "../load-project.ts";

export async function runAdd(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const root = rootOf(parsed, context);
  requireProject(root);
  const [what, which] = parsed.positionals;
  if (what === "messenger") return describe(await addMessenger(parsed, context), parsed, context);
  if (what === "mcp") return describe(await addServer(parsed, context), parsed, context);
  if (which !== undefined) throw usageError(parsed.name, `"${which}" is one argument too many.`);
  if (what === "skills") return describe(addSkills(root, context), parsed, context);
  if (what === CHAT) return addChat(root, parsed, context);
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

const CHAT = "chat";
const CHAT_FOLDER = "page/chat";
/** Imported by the sources, and by no other file of a project. */
const CHAT_PACKAGES = ["marked", "sugar-high"];

/** Copies the sources of everthink/react's parts. A file that is there ends it before anything is written. */
function addChat(root: string, parsed: ParsedArguments, { place, print }: CliContext): number {
  const folder = parsed.text("to") ?? CHAT_FOLDER;
  const files = new Map(
    readdirSync(place.partsFolder, { recursive: true, encoding: "utf8" })
      .filter((path) => statSync(join(place.partsFolder, path)).isFile())
      .map((path): [string, string] => [
        join(folder, path).split(sep).join("/"),
        readFileSync(join(place.partsFolder, path), "utf8")
      ])
  );
  const present = [...files.keys()].find((path) => existsSync(join(root, path)));
  if (present !== undefined) {
    throw new CommandError(`${present} exists, and nothing was changed.`, "Name another folder: --to <folder>");
  }
  writeNew(root, files);
  const missing = CHAT_PACKAGES.filter((name) => !isListed(root, name)).map(
    (name) => `${name}@${place.dependencies[name]}`
  );
  if (parsed.flag("json")) print(JSON.stringify({ folder, files: [...files.keys()], missing }, null, 2));
  else {
    print(`${files.size} files are in ${folder}. In the page, import from "./chat" instead of "everthink/react".`);
    if (missing.length > 0) print(`Next: npm install ${missing.join(" ")}`);
  }
  return 0;
}

function describe({ changed, next }: Addition, parsed: ParsedArguments, { print }: CliContext): number {
  if (parsed.flag("json")) print(JSON.stringify({ changed, next }, null, 2));
  else {
    print(changed.length === 0 ? "It is there already: nothing was changed." : `Changed: ${changed.join(", ")}`);
    if (next.length > 0) print(["Next:", ...next.map((line) => `  ${line}`)].join("\n"));
  }
  return 0;
}
