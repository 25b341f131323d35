// Runs one script of `bash` over the files. No processes, no binaries; the network only where the class allows it. What
// the script changed is written back when it has ended, also after a failure or the timeout.
import { cutToBytes, byteLength } from "../../../util/bytes.ts";
import { errorMessage } from "../../../util/errors.ts";
import { normalizePath } from "../paths.ts";
import type { BashOperations } from "../tools/operations.ts";
import { formatSize } from "../../../util/format-size.ts";
import { BaseTree } from "./base-tree.ts";
import type { ShellModule } from "./interpreter.ts";
import { loadShell } from "./load-shell.ts";
import { type BashNetwork, shellFetch } from "./network.ts";
import { ScriptOverlay } from "./overlay.ts";
import { rejectOnAbort, timedSignal } from "./timed-signal.ts";
import { type ChangedFiles, writeBack } from "./write-back.ts";

export interface BashOptions {
  /** Milliseconds a script may run; 30,000 by default. */
  readonly timeout?: number;
  /** What a script may reach; nothing by default. */
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

/** Limits of the interpreter itself: they end a script that would never end, or that would fill the memory. */
export const EXECUTION_LIMITS = {
  maxCommandCount: 100_000,
  maxLoopIterations: 100_000,
  maxCallDepth: 100,
  maxOutputSize: 8 * 1024 * 1024,
  maxStringLength: 8 * 1024 * 1024,
  maxHeredocSize: 8 * 1024 * 1024,
  maxLiveBytes: 64 * 1024 * 1024,
  maxArchiveBytes: 64 * 1024 * 1024
};

/** Runs a script. Throws BashMissingError without the interpreter, and what stopped the turn. */
export async function runScript(
  options: BashOptions & { readonly ops: BashOperations },
  input: BashInput,
  turn: AbortSignal | undefined
): Promise<BashOutput> {
  turn?.throwIfAborted();
  const shell = await loadShell();
  if (!shell.ok) throw shell.error;
  const base = new BaseTree(options.ops, {
    maxReadBytes: options.maxReadBytes ?? DEFAULTS.maxReadBytes,
    maxWorkspaceFileBytes: options.maxWorkspaceFileBytes ?? Infinity,
    maxWorkspaceFiles: options.maxWorkspaceFiles ?? Infinity
  });
  const overlay = new ScriptOverlay(base);
  const result = await execute(shell.value, options, { input, overlay, turn });
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
  readonly overlay: ScriptOverlay;
  readonly turn: AbortSignal | undefined;
}

async function execute({ Bash }: ShellModule, options: BashOptions, { input, overlay, turn }: Execution) {
  const timeoutMs = options.timeout ?? DEFAULTS.timeout;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = timedSignal(turn ? AbortSignal.any([turn, timeout]) : timeout, timeoutMs);
  const isLate = () => signal.aborted && !turn?.aborted;
  const late = { stdout: "", stderr: `The script was timed out after ${timeoutMs} ms.`, exitCode: TIMED_OUT };
  const cwd = normalizePath(input.cwd ?? "/");
  const fetch = shellFetch(options.network ?? false);
  try {
    const bash = new Bash({ fs: overlay, cwd, executionLimits: EXECUTION_LIMITS, fetch });
    overlay.mkdirSync("/tmp");
    // The interpreter looks at the signal between commands; a command that waits is not waited for.
    const run = bash.exec(input.script, { cwd, rawScript: true, signal });
    run.catch(() => undefined);
    const result = await Promise.race([run, rejectOnAbort(signal, () => new Error("The script was stopped."))]);
    // A script that was ended between two commands has a code of the interpreter's own.
    return isLate() && result.exitCode !== 0 ? { ...late, stdout: result.stdout } : result;
  } catch (error) {
    return isLate() ? late : { stdout: "", stderr: errorMessage(error), exitCode: 1 };
  }
}

function cut(text: string, limitBytes: number): string {
  const size = byteLength(text);
  return size <= limitBytes
    ? text
    : `${cutToBytes(text, limitBytes)}\n... (${formatSize(size - limitBytes)} truncated)`;
}
