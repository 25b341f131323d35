// What a script may leave behind and how often it may ask. Checked outside of where the script runs.

/** Files that a script may leave as a result, and bytes of each. */
export const MAX_OUTPUT_FILES = 20;
export const MAX_OUTPUT_FILE_BYTES = 64_000;
const MAX_OUTPUT_NAME_CHARS = 256;
/** Bytes of what a script prints. */
export const MAX_PRINTED_BYTES = 64_000;
/** Characters of a result before it is shortened for the model. */
export const MAX_RESULT_CHARS = 1_000_000;
/** Calls of one run to the workspace, to tools, to the network and for files. */
export const MAX_HOST_CALLS = 1_000;
/** Bytes of one file of the workspace that a script may read, and characters it may write. */
export const MAX_WORKSPACE_FILE_BYTES = 10 * 1024 * 1024;
export const DEFAULT_SCRIPT_TIMEOUT_MS = 30_000;
/** Said inside and outside of where Python runs. */
export const PYTHON_TIMED_OUT = "Python script execution timed out";

/** What is wrong with the name of an output file, if anything. */
export function outputNameProblem(name: unknown): string | undefined {
  const isName = typeof name === "string" && name.trim() !== "" && name.length <= MAX_OUTPUT_NAME_CHARS;
  return isName ? undefined : `The name of an output file must have 1 to ${MAX_OUTPUT_NAME_CHARS} characters.`;
}

/** What is wrong with an output file of this size, given how many others there are. */
export function outputFileProblem(name: string, sizeBytes: number, others: number): string | undefined {
  if (sizeBytes > MAX_OUTPUT_FILE_BYTES)
    return `The output file "${name}" has ${sizeBytes} bytes; at most ${MAX_OUTPUT_FILE_BYTES} are allowed.`;
  return others >= MAX_OUTPUT_FILES ? `A script may leave at most ${MAX_OUTPUT_FILES} output files.` : undefined;
}
