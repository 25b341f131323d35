// `everthink upgrade`: the newest version of the package for a project, with what it changes. Nothing is touched that Git could
// not bring back.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseJson } from "../../util/json.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import { usageError, type ParsedArguments } from "../command-line.ts";
import { requireProject, rootOf } from "../load-project.ts";
import { printable } from "../message-text.ts";
import { withProgress } from "../progress.ts";
import { runProgram, type ProgramEnd } from "../run-program.ts";
import { changesBetween, chooseVersion, compareVersions, readVersion, withDependency } from "../upgrade/versions.ts";

const PACKAGE = "everthink";

export async function runUpgrade(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const root = rootOf(parsed, context);
  requireProject(root);
  const isDryRun = parsed.flag("dry-run") ?? false;
  const installed = installedVersion(root);
  const published = await withProgress("Asking npm for the versions", context, publishedVersions(root, context));
  const { target, beyond } = choose(parsed, installed, published);
  const changes = target === installed ? "" : await changesOf(root, { installed, target }, context);
  const say = parsed.flag("json") ? () => undefined : context.print;
  if (target === installed) say(`everthink ${installed} is the newest version that changes nothing you use.`);
  else say(`everthink ${installed} -> ${target}${changes === "" ? "" : `\n\n${changes}\n`}`);
  if (beyond !== undefined) say(`${beyond} is newer, and may break something: everthink upgrade --latest`);
  const isWritten = target !== installed && !isDryRun;
  if (isWritten) await install(root, { target, isForced: parsed.flag("force") ?? false }, context);
  if (parsed.flag("json")) {
    context.print(JSON.stringify({ installed, target, beyond: beyond ?? null, changes, isWritten }, null, 2));
  } else if (isWritten) say("It is installed. Next: npm test, and npx everthink doctor");
  else if (target !== installed) say("Nothing was changed: --dry-run.");
  return 0;
}

function choose(parsed: ParsedArguments, installed: string, published: readonly string[]) {
  const wanted = parsed.text("to");
  if (wanted === undefined) return chooseVersion(installed, published, parsed.flag("latest") ?? false);
  if (readVersion(wanted) === undefined || !published.includes(wanted)) {
    throw usageError(parsed.name, `There is no version "${wanted}" of everthink.`);
  }
  if (compareVersions(wanted, installed) < 0) {
    throw new CommandError(
      `${wanted} is older than ${installed}, which is installed.`,
      `npm install everthink@${wanted}`
    );
  }
  return { target: wanted, beyond: undefined };
}

function installedVersion(root: string): string {
  try {
    const path = createRequire(join(root, "package.json")).resolve(`${PACKAGE}/package.json`);
    return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
  } catch {
    throw new CommandError("everthink is not installed in this project.", "Install it: npm install");
  }
}

async function publishedVersions(root: string, context: CliContext): Promise<readonly string[]> {
  const ended = await runProgram(["npm", "view", PACKAGE, "versions", "--json"], root, context);
  const read = parseJson(ended.output);
  const value = read.ok ? read.value : undefined;
  // Of one version npm prints the text alone.
  if (ended.code === 0 && typeof value === "string") return [value];
  if (ended.code !== 0 || !Array.isArray(value)) throw npmFailed("npm view", ended);
  return value.filter((one): one is string => typeof one === "string");
}

/** From the changelog that the new version brings, and its page about upgrading where it has one. */
async function changesOf(
  root: string,
  { installed, target }: { readonly installed: string; readonly target: string },
  context: CliContext
): Promise<string> {
  const scratch = mkdtempSync(join(tmpdir(), "everthink-upgrade-"));
  try {
    const spec = `${PACKAGE}@${target}`;
    const packing = runProgram(["npm", "pack", spec, "--pack-destination", scratch, "--json"], root, context);
    const packed = await withProgress(`Reading what ${target} changes`, context, packing);
    const read = parseJson(packed.output);
    const [report] = read.ok && Array.isArray(read.value) ? (read.value as { filename?: string }[]) : [];
    if (packed.code !== 0 || report?.filename === undefined) throw npmFailed("npm pack", packed);
    const untarred = await runProgram(["tar", "-xzf", report.filename, "--strip-components=1"], scratch, context);
    if (untarred.code !== 0) throw npmFailed("tar", untarred);
    const texts = ["CHANGELOG.md", "docs/upgrading.md"].map((path) => join(scratch, path)).filter(existsSync);
    const sections = texts.map((path) => changesBetween(readFileSync(path, "utf8"), installed, target));
    return printable(sections.filter((text) => text !== "").join("\n\n"));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function install(
  root: string,
  { target, isForced }: { readonly target: string; readonly isForced: boolean },
  context: CliContext
): Promise<void> {
  if (!isForced) await requireCommitted(root, context);
  const path = join(root, "package.json");
  const manifest = withDependency(readFileSync(path, "utf8"), PACKAGE, target);
  if (manifest === undefined)
    throw new CommandError("package.json does not depend on everthink.", "npm install everthink");
  writeFileSync(path, manifest);
  const other = ["pnpm-lock.yaml", "yarn.lock", "bun.lock"].find((name) => existsSync(join(root, name)));
  if (other !== undefined) {
    return context.note(
      `package.json asks for ^${target}. ${other} is not npm's: install with the program that wrote it.`
    );
  }
  const installing = runProgram(["npm", "install", "--no-audit", "--no-fund"], root, context);
  const ended = await withProgress("npm install", context, installing);
  if (ended.code !== 0) throw npmFailed("npm install", ended);
}

/** Throws CommandError. */
async function requireCommitted(root: string, context: CliContext): Promise<void> {
  const { code, output } = await runProgram(["git", "status", "--porcelain", "--untracked-files=no"], root, context);
  if (code === 0 && output.trim() === "") return;
  throw new CommandError(
    code === 0 ? "There are changes that are not committed." : "The project is not in Git.",
    "Commit first, so that you see what the upgrade changes, or use --force."
  );
}

function npmFailed(name: string, { code, errors }: ProgramEnd): CommandError {
  return new CommandError(
    `${name} ${code === null ? "cannot be run, or was stopped" : `ended with ${code}`}. Nothing else was done.`,
    printable(errors.trim().split("\n").slice(0, 5).join("\n"))
  );
}
