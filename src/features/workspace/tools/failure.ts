// Failures that a model can act on are results of a tool; all others fail the call.

export interface ToolFailure {
  readonly error: string;
}

/** Runs the work of a tool and gives an expected failure as its result, also one that came over RPC as a message alone. */
export async function orFailure<T>(work: () => Promise<T>): Promise<T | ToolFailure> {
  try {
    return await work();
  } catch (error) {
    const expected = readFileFailure(error);
    if (expected === undefined) throw error;
    return { error: expected };
  }
}

/** Reads the message of a failed file operation or of a bad pattern. Undefined for any other error. */
export function readFileFailure(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const isExpected = /^E[A-Z]{2,}: /.test(error.message) || ("code" in error && error.code === "invalid-pattern");
  return isExpected ? error.message : undefined;
}

/** Reads the POSIX code at the beginning of an error's message. */
export function readErrorCode(error: unknown): string | undefined {
  return error instanceof Error ? /^(E[A-Z]{2,}): /.exec(error.message)?.[1] : undefined;
}
