import { byteLength, isLongerThan } from "../util/bytes.ts";
import { errorMessage, ThinkError } from "../util/errors.ts";

/** A statement given to `sql` failed. */
export class SqlError extends ThinkError {
  constructor(
    /** The statement with `?` in place of each value. */
    readonly query: string,
    cause: unknown
  ) {
    super({
      code: "sql-failed",
      message: `SQL query failed: ${errorMessage(cause)}`,
      hint: `The statement was: ${query}`,
      cause
    });
    this.name = "SqlError";
  }
}

export class ReadonlyConnectionError extends ThinkError {
  constructor() {
    super({
      code: "connection-readonly",
      message: "Connection is readonly",
      hint: "shouldConnectionBeReadonly() or setConnectionReadonly() made it so."
    });
  }
}

export class StateTooLargeError extends ThinkError {
  constructor(
    readonly sizeBytes: number,
    readonly limitBytes: number
  ) {
    super({
      code: "state-too-large",
      message: `The state is too large to store: ${sizeBytes} bytes, at most ${limitBytes}.`,
      hint: "Keep large collections in SQL tables and only what clients need to see in the state."
    });
  }
}

export class StateNotSerializableError extends ThinkError {
  constructor(cause?: unknown) {
    super({
      code: "state-not-serializable",
      message: "The state cannot be written as JSON.",
      hint: "Remove functions, BigInts, circular references and top-level undefined.",
      cause
    });
  }
}

/** The platform does not tell an object a longer name. */
export const NAME_LIMIT_BYTES = 1024;

export function isTooLongName(name: string): boolean {
  return isLongerThan(name, NAME_LIMIT_BYTES);
}

export class AgentNameError extends ThinkError {
  constructor(name: string) {
    super({
      code: "agent-name-too-long",
      message: `The agent's name is too long: ${byteLength(name)} bytes, at most ${NAME_LIMIT_BYTES}.`,
      hint: "Use a shorter name: an id of your own, or a hash of the long one."
    });
  }
}

export class UnnamedAgentError extends ThinkError {
  constructor(className: string) {
    super({
      code: "agent-unnamed",
      message: `This ${className} has no name: it was addressed by a raw id.`,
      hint:
        `Address agents by name: getAgentByName(namespace, name) or namespace.idFromName(name). ` +
        `A name of more than ${NAME_LIMIT_BYTES} bytes counts as none.`
    });
  }
}

export class AgentDestroyedError extends ThinkError {
  constructor() {
    super({
      code: "agent-destroyed",
      message: "This agent was destroyed.",
      hint: "destroy() has begun and finishes by itself; address the agent again afterwards to start a new one."
    });
  }
}

export class ConnectionTagError extends ThinkError {
  constructor(problem: string) {
    super({
      code: "connection-tags",
      message: `getConnectionTags() returned tags that cannot be used: ${problem}.`,
      hint: "A connection has at most 10 tags with its id, each a non-empty string of at most 256 characters."
    });
  }
}
