// Failures that a model can act on are results of a tool; all others fail the call.

export interface ToolFailure {
  readonly error: string;
}

/** Also over RPC, where of an error only the message arrives. */
export async function orFailure<T>(work: () => Promise<T>): Promise<T | ToolFailure> {
  try {
    return await work();
  } catch (error) {
    const expected = fileFailure(error);
    if (expected === undefined) throw error;
    return { error: expected };
  }
}

/** The message of a failed file operation or of a bad pattern; undefined for any other error. */
export function fileFailure(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const isExpected = /^E[A-Z]{2,}: /.test(error.message) || ("code" in error && error.code === "invalid-pattern");
  return isExpected ? error.message : undefined;
}

/** The POSIX code an error carries, in `code` or at the beginning of its message. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error ? /^(E[A-Z]{2,}): /.exec(error.message)?.[1] : undefined;
}
