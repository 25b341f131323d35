// `everthink deploy`: checks, the build, Wrangler, and where the app is then. What a check finds stops it before anything is
// uploaded.
import { spawn } from "node:child_process";
import { readVariables, VARIABLES_FILE } from "../../framework/project/declared-variables.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import type { ParsedArguments } from "../command-line.ts";
import { findingsOf } from "../doctor/findings.ts";
import { readFacts } from "../doctor/read-facts.ts";
import { rootOf } from "../load-project.ts";
import { wranglerProgram } from "../wrangler.ts";
import { describeFinding } from "./doctor.ts";
import { viteProgram } from "./dev.ts";

/** They are for this machine: a deployed Worker neither is developed nor has these. */
const LOCAL_ONLY = /^(?:EVERTHINK_DEVELOPMENT|OFFLINE_PACE_MS)$/;

export async function runDeploy(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const root = rootOf(parsed, context);
  await check(parsed, context);
  const environment = parsed.text("env");
  const place = { root, variables: environment === undefined ? NO_VARIABLES : { CLOUDFLARE_ENV: environment } };
  await runStep({ ...place, name: "vite build", program: [process.execPath, viteProgram(root), "build"] }, context);
  const wrangler = wranglerProgram(root);
  const isDryRun = parsed.flag("dry-run") ?? false;
  const program = [...wrangler, "deploy", ...(isDryRun ? ["--dry-run"] : []), ...parsed.passedOn];
  const output = await runStep({ ...place, name: "wrangler deploy", program }, context);
  await uploadSecrets(
    { ...place, name: "wrangler secret bulk", program: [...wrangler, "secret", "bulk"] },
    parsed,
    context
  );
  const address = /https:\/\/\S+/.exec(output)?.[0];
  if (isDryRun) context.print("Nothing was deployed: --dry-run.");
  else context.print(address === undefined ? "Deployed; Wrangler printed no address." : `Deployed: ${address}`);
  return 0;
}

const NO_VARIABLES: Readonly<Record<string, string>> = {};

/** Throws CommandError. */
async function check(parsed: ParsedArguments, context: CliContext): Promise<void> {
  const findings = findingsOf(await readFacts(parsed, context, { isOffline: true }));
  for (const finding of findings.filter(({ level }) => level !== "ok")) context.note(describeFinding(finding));
  if (findings.some(({ level }) => level === "error")) {
    throw new CommandError("Nothing was deployed.", "Mend what is marked as an error, then run it again.");
  }
}

async function uploadSecrets(step: Step, parsed: ParsedArguments, context: CliContext): Promise<void> {
  const secrets = Object.fromEntries([...readVariables(step.root, VARIABLES_FILE)].filter(isSecret));
  const names = Object.keys(secrets).join(", ");
  if (names === "") return;
  if (!parsed.flag("secrets")) {
    context.note(`Of ${VARIABLES_FILE} nothing is uploaded. --secrets sets ${names} as secrets of the Worker.`);
  } else if (parsed.flag("dry-run")) {
    context.print(`Would set the secrets ${names}.`);
  } else {
    // Through standard input: arguments can be read by every user of the machine.
    await runStep({ ...step, input: JSON.stringify(secrets) }, context);
    context.print(`Secrets of ${VARIABLES_FILE} are set: ${names}.`);
  }
}

function isSecret([name, value]: readonly [string, string]): boolean {
  return value !== "" && !LOCAL_ONLY.test(name);
}

interface Step {
  readonly name: string;
  readonly root: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly program: readonly string[];
  readonly input?: string;
}

/** Its output goes on to the user as it comes, and is handed back. Throws CommandError if it fails. */
async function runStep({ name, root, variables, program, input }: Step, context: CliContext): Promise<string> {
  const [file = "", ...args] = program;
  context.note(`${name} …`);
  const child = spawn(file, args, {
    cwd: root,
    env: { ...context.environment, ...variables },
    stdio: ["pipe", "pipe", "pipe"]
  });
  const stop = () => void child.kill("SIGTERM");
  context.signal.addEventListener("abort", stop, { once: true });
  let output = "";
  const take = (text: string) => {
    output += text;
    context.note(text.trimEnd());
  };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", take);
  // Wrangler asks nothing where standard input is no terminal.
  child.stdin.on("error", () => undefined).end(input);
  const code = await new Promise<number | null>((settle) => {
    child.once("error", () => settle(null));
    child.once("close", settle);
  });
  context.signal.removeEventListener("abort", stop);
  if (code === 0) return output;
  throw new CommandError(
    `${name} ${code === null ? "cannot be run, or was stopped" : `ended with ${code}`}.`,
    code === null
      ? "Is it installed? npm install"
      : "What it printed says why. A login is made with: npx wrangler login"
  );
}
