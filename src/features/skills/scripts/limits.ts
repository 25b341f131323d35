// The limits of what a script leaves behind and of how often it calls. They are checked outside of where the script runs.

/** The most files that a script may leave as a result. */
export const MAX_OUTPUT_FILES = 20;
/** The most bytes of each. */
export const MAX_OUTPUT_FILE_BYTES = 64_000;
const MAX_OUTPUT_NAME_CHARS = 256;
/** The most bytes that a script prints. */
export const MAX_PRINTED_BYTES = 64_000;
/** The most characters of a result before it is shortened for the model. */
export const MAX_RESULT_CHARS = 1_000_000;
/** The most calls of one run to the workspace, to tools, to the network and for files. */
export const MAX_HOST_CALLS = 1_000;
/** The most bytes of one file of the workspace that a script may read, and characters that it may write. */
export const MAX_WORKSPACE_FILE_BYTES = 10 * 1024 * 1024;
export const DEFAULT_SCRIPT_TIMEOUT_MS = 30_000;
/** The message of a timeout, inside and outside of where Python runs. */
export const PYTHON_TIMED_OUT = "Python script execution timed out";

/** Says what is wrong with the name of an output file. Undefined: nothing is. */
export function outputNameProblem(name: unknown): string | undefined {
  const isName = typeof name === "string" && name.trim() !== "" && name.length <= MAX_OUTPUT_NAME_CHARS;
  return isName ? undefined : `The name of an output file must have 1 to ${MAX_OUTPUT_NAME_CHARS} characters.`;
}

/** Says what is wrong with an output file of this size beside so many others. Undefined: nothing is. */
export function outputFileProblem(name: string, sizeBytes: number, others: number): string | undefined {
  if (sizeBytes > MAX_OUTPUT_FILE_BYTES)
    return `The output file "${name}" has ${sizeBytes} bytes; at most ${MAX_OUTPUT_FILE_BYTES} are allowed.`;
  return others >= MAX_OUTPUT_FILES ? `A script may leave at most ${MAX_OUTPUT_FILES} output files.` : undefined;
}
