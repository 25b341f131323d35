// The base of every error this package throws. It has two readers: the caller sees `message`, the operator also `hint`.

export interface ThinkErrorInit {
  /** Stable, kebab-case; what programs match on. */
  code: string;
  /** Safe to show to a caller: no stack, no internal path, no neighbour's name. */
  message: string;
  /** What the operator can do about it. */
  hint?: string;
  cause?: unknown;
}

export class ThinkError extends Error {
  readonly code: string;
  readonly hint: string | undefined;

  constructor(init: ThinkErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.name = new.target.name;
    this.code = init.code;
    this.hint = init.hint;
  }
}

/** The text of anything thrown. Total: what is thrown may be a provider's or a user's value, and have a getter that throws. */
export function errorMessage(error: unknown): string {
  try {
    const message: unknown = error instanceof Error ? error.message : error;
    return String(message);
  } catch {
    return "";
  }
}
