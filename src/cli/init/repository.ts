// The Git repository of a new project: made with its first commit, unless the folder is in one already. Nothing depends on it:
// without Git, or where Git does not know its user, the project is there all the same.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CliContext } from "../cli-context.ts";
import { runProgram } from "../run-program.ts";

const FIRST_COMMIT = "Project made with npm create everthink";

/** Whether the project is committed. */
export async function commitProject(folder: string, context: CliContext): Promise<boolean> {
  const git = async (...args: string[]) => (await runProgram(["git", ...args], folder, context)).code === 0;
  // A signature would ask for a passphrase, and hooks of the user's are about their own projects.
  return (
    (await git("add", "--all")) &&
    (await git("-c", "commit.gpgSign=false", "commit", "--quiet", "--no-verify", "--message", FIRST_COMMIT))
  );
}

/** Whether a repository was made. */
export async function initRepository(folder: string, context: CliContext): Promise<boolean> {
  if (isInRepository(folder)) return false;
  return (await runProgram(["git", "init", "--quiet"], folder, context)).code === 0;
}

function isInRepository(folder: string): boolean {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return true;
    if (dirname(at) === at) return false;
  }
}
