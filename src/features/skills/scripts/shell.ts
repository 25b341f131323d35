// Bash scripts in the interpreter of the package just-bash, over a file system of their own: the input and the files of the
// skill are there, and what is left in /output is part of the result.
import { cutToBytes, decodeText } from "../../../util/bytes.ts";
import { errorMessage } from "../../../util/errors.ts";
import type { ShellCommand, ShellFileSystem, ShellResult } from "../../workspace/bash/interpreter.ts";
import { loadShell } from "../../workspace/bash/load-shell.ts";
import { EXECUTION_LIMITS } from "../../workspace/bash/run-script.ts";
import { timedSignal } from "../../workspace/bash/timed-signal.ts";
import { SkillScriptError } from "../errors.ts";
import type { Capabilities } from "./capabilities.ts";
import { MAX_PRINTED_BYTES, outputFileProblem } from "./limits.ts";
import { initialFiles, OUTPUT_FOLDER, toOutputFile, SKILL_FOLDER } from "./path-contract.ts";
import type { SkillOutputFile, SkillScriptRequest } from "./script.ts";

export interface ShellRun {
  readonly request: SkillScriptRequest;
  readonly capabilities: Capabilities;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Rejects when the run is stopped. */
  readonly stopped: Promise<never>;
}

/** Runs a script in the interpreter. Throws SkillScriptError, and BashMissingError without the interpreter. */
export async function runInShell({ request, capabilities, signal, timeoutMs, stopped }: ShellRun): Promise<unknown> {
  const shell = await loadShell();
  if (!shell.ok) throw shell.error;
  const { Bash, InMemoryFs } = shell.value;
  const input = JSON.stringify(request.input) ?? "null";
  const fs = new InMemoryFs(initialFiles(request, input));
  fs.mkdirSync(OUTPUT_FOLDER, { recursive: true });
  fs.mkdirSync("/tmp", { recursive: true });
  const bash = new Bash({
    fs,
    cwd: SKILL_FOLDER,
    executionLimits: EXECUTION_LIMITS,
    customCommands: makeCommands(capabilities),
    fetch: capabilities.fetch
  });
  const timed = timedSignal(signal, timeoutMs);
  const run = bash.exec(request.source, { cwd: SKILL_FOLDER, rawScript: true, signal: timed, stdin: input });
  run.catch(() => undefined);
  const result = await Promise.race([run, stopped]);
  if (timed.aborted) throw new SkillScriptError(`The script was timed out after ${timeoutMs} ms.`);
  const outputFiles = await collect(fs);
  return {
    stdout: cut(result.stdout),
    stderr: cut(result.stderr),
    exitCode: result.exitCode,
    ...(outputFiles.length > 0 && { outputFiles })
  };
}

/** Makes the commands that reach the workspace and tools, as far as the run may. A command that is not allowed does not exist. */
function makeCommands(capabilities: Capabilities): ShellCommand[] {
  const { access, tools } = capabilities;
  const reading: ShellCommand[] = [
    makeCommand("workspace-read", 1, async ([path = ""]) => {
      const text = await capabilities.readFile(path);
      if (text === null) throw new Error(`${path}: no such file`);
      return text;
    }),
    makeCommand("workspace-list", 0, async ([path]) => `${JSON.stringify(await capabilities.listFiles(path))}\n`),
    makeCommand("workspace-glob", 1, async ([pattern = ""]) => `${JSON.stringify(await capabilities.glob(pattern))}\n`)
  ];
  const writing = makeCommand("workspace-write", 1, async ([path = ""], stdin) => {
    await capabilities.writeFile(path, stdin);
    return "";
  });
  const tool = makeCommand("tool", 1, async ([name = "", json], stdin) => {
    const given = json ?? (stdin.trim() === "" ? "{}" : stdin);
    return `${JSON.stringify((await capabilities.callTool(name, JSON.parse(given))) ?? null)}\n`;
  });
  return [
    ...(access === "none" ? [] : reading),
    ...(access === "read-write" ? [writing] : []),
    ...(Object.keys(tools).length > 0 ? [tool] : [])
  ];
}

function makeCommand(
  name: string,
  needed: number,
  execute: (args: string[], stdin: string) => Promise<string>
): ShellCommand {
  return {
    name,
    execute: async (args, { stdin }): Promise<ShellResult> => {
      if (args.length < needed) return { stdout: "", stderr: `${name}: an argument is missing\n`, exitCode: 2 };
      try {
        const bytes = Uint8Array.from(String(stdin), (character) => character.charCodeAt(0));
        return { stdout: await execute(args, decodeText(bytes)), stderr: "", exitCode: 0 };
      } catch (error) {
        return { stdout: "", stderr: `${name}: ${errorMessage(error)}\n`, exitCode: 1 };
      }
    }
  };
}

async function collect(fs: ShellFileSystem): Promise<SkillOutputFile[]> {
  const found: SkillOutputFile[] = [];
  for (const path of fs.getAllPaths().toSorted()) {
    if (!path.startsWith(`${OUTPUT_FOLDER}/`)) continue;
    const { isFile } = await fs.lstat(path);
    if (!isFile) continue;
    const name = path.slice(OUTPUT_FOLDER.length + 1);
    const bytes = await fs.readFileBuffer(path);
    const problem = outputFileProblem(name, bytes.byteLength, found.length);
    if (problem !== undefined) throw new SkillScriptError(problem);
    found.push(toOutputFile(name, bytes));
  }
  return found;
}

function cut(text: string): string {
  const kept = cutToBytes(text, MAX_PRINTED_BYTES);
  return kept === text ? text : `${kept}\n... (truncated)`;
}
