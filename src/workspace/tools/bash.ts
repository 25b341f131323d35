// `bash`: a script in an interpreter over the workspace. No processes, no binaries; the network only where the class
// allows it. What the script changed is written back when it has ended, also after a failure or the timeout.
import { tool, type Tool } from "ai";
import { cutToBytes, byteLength } from "../../util/bytes.ts";
import { BaseTree } from "../bash/base-tree.ts";
import type { ShellModule } from "../bash/interpreter.ts";
import { type BashNetwork, shellFetch } from "../bash/network.ts";
import { Overlay } from "../bash/overlay.ts";
import { type ChangedFiles, writeBack } from "../bash/write-back.ts";
import { BashMissingError } from "../errors.ts";
import { normalizePath } from "../paths.ts";
import type { BashFactory } from "./create-workspace-tools.ts";
import { toolInput } from "./input.ts";
import type { BashOperations } from "./operations.ts";
import { sizeText } from "./size-text.ts";

export interface BashOptions {
  /** Loads the interpreter when a script first runs: `() => import("just-bash")`. */
  readonly load: () => Promise<ShellModule>;
  /** Milliseconds a script may run; 30,000 by default. */
  readonly timeout?: number;
  /** None by default. */
  readonly network?: BashNetwork;
  /** Bytes of each of stdout and stderr that are kept; 64,000 by default. */
  readonly maxOutputBytes?: number;
  /** Bytes of files that one script may read; 64 MB by default. */
  readonly maxReadBytes?: number;
  /** Bytes of one file that a script may read; no limit by default. */
  readonly maxWorkspaceFileBytes?: number;
  /** Files that one script may read; no limit by default. */
  readonly maxWorkspaceFiles?: number;
}

export interface BashToolOptions extends BashOptions {
  readonly ops: BashOperations;
}

export interface BashInput {
  script: string;
  cwd?: string;
}

export interface BashOutput {
  stdout: string;
  stderr: string;
  exitCode: number;
  changedFiles: ChangedFiles;
  skippedFiles?: string[];
  errors?: string[];
}

const DEFAULTS = { timeout: 30_000, maxOutputBytes: 64_000, maxReadBytes: 64 * 1024 * 1024 };
const TIMED_OUT = 124;

/** Of the interpreter itself: what ends a script that would never end, or that would fill the memory. */
const EXECUTION_LIMITS = {
  maxCommandCount: 100_000,
  maxLoopIterations: 100_000,
  maxCallDepth: 100,
  maxOutputSize: 8 * 1024 * 1024,
  maxStringLength: 8 * 1024 * 1024,
  maxHeredocSize: 8 * 1024 * 1024,
  maxLiveBytes: 64 * 1024 * 1024,
  maxArchiveBytes: 64 * 1024 * 1024
};

/**
 * The value of `workspaceBash`, and of the option `bash` of `createWorkspaceTools`.
 *
 * @example
 * workspaceBash = bash({ load: () => import("just-bash") });
 */
export function bash(options: BashOptions): BashFactory {
  if (typeof options?.load !== "function") throw new BashMissingError();
  return (ops) => createBashTool({ ...options, ops });
}

/** @example const tools = { bash: createBashTool({ ops: workspace, load: () => import("just-bash") }) }; */
export function createBashTool(options: BashToolOptions): Tool<BashInput, BashOutput> {
  if (typeof options.load !== "function") throw new BashMissingError();
  return tool({
    description:
      "Runs a bash script over the files of the workspace, which is mounted at / (there is no /workspace and no /home). The common commands are there (ls, cat, grep, sed, awk, jq, find, sort, tar …), programs are not. Changes to files persist; variables and the working directory do not.",
    inputSchema: toolInput<BashInput>({
      script: { type: "string", description: "The script" },
      cwd: { type: "string", isOptional: true, description: "Directory to start in; / by default" }
    }),
    execute: (input, { abortSignal }): Promise<BashOutput> => runScript(options, input, abortSignal)
  });
}

async function runScript(
  options: BashToolOptions,
  input: BashInput,
  turn: AbortSignal | undefined
): Promise<BashOutput> {
  turn?.throwIfAborted();
  const base = new BaseTree(options.ops, {
    maxReadBytes: options.maxReadBytes ?? DEFAULTS.maxReadBytes,
    maxWorkspaceFileBytes: options.maxWorkspaceFileBytes ?? Infinity,
    maxWorkspaceFiles: options.maxWorkspaceFiles ?? Infinity
  });
  const overlay = new Overlay(base);
  const result = await execute(options, { input, overlay, turn });
  overlay.close();
  const { changedFiles, errors } = await writeBack(overlay, options.ops);
  // A stopped turn keeps what the script did until then, and takes no result.
  turn?.throwIfAborted();
  const limit = options.maxOutputBytes ?? DEFAULTS.maxOutputBytes;
  const skippedFiles = [...base.unread.keys()].sort();
  return {
    stdout: cut(result.stdout, limit),
    stderr: cut(result.stderr, limit),
    exitCode: result.exitCode,
    changedFiles,
    ...(skippedFiles.length > 0 && { skippedFiles }),
    ...(errors.length > 0 && { errors })
  };
}

interface Execution {
  readonly input: BashInput;
  readonly overlay: Overlay;
  readonly turn: AbortSignal | undefined;
}

async function execute(options: BashToolOptions, { input, overlay, turn }: Execution) {
  const { Bash } = await load(options);
  const timeout = AbortSignal.timeout(options.timeout ?? DEFAULTS.timeout);
  const signal = turn ? AbortSignal.any([turn, timeout]) : timeout;
  const cwd = normalizePath(input.cwd ?? "/");
  const fetch = shellFetch(options.network ?? false);
  try {
    const bash = new Bash({ fs: overlay, cwd, executionLimits: EXECUTION_LIMITS, ...(fetch && { fetch }) });
    overlay.mkdirSync("/tmp");
    // The interpreter looks at the signal between commands; a command that waits is not waited for.
    const run = bash.exec(input.script, { cwd, rawScript: true, signal });
    run.catch(() => undefined);
    return await Promise.race([run, aborted(signal)]);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { stdout: "", stderr: message, exitCode: timeout.aborted ? TIMED_OUT : 1 };
  }
}

async function load(options: BashToolOptions): Promise<ShellModule> {
  try {
    return await options.load();
  } catch (error) {
    throw new BashMissingError(error);
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = () => reject(new Error("The script was stopped."));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

function cut(text: string, limitBytes: number): string {
  const size = byteLength(text);
  return size <= limitBytes ? text : `${cutToBytes(text, limitBytes)}\n... (${sizeText(size - limitBytes)} truncated)`;
}
