import { byteLength, isLongerThan } from "../util/bytes.ts";
import { errorMessage, errorTable, ThinkError } from "../util/errors.ts";

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

/** The platform does not tell an object a longer name. */
export const NAME_LIMIT_BYTES = 1024;

export function isTooLongName(name: string): boolean {
  return isLongerThan(name, NAME_LIMIT_BYTES);
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

export const agentErrors = errorTable(ThinkError, {
  ReadonlyConnectionError: () => ({
    code: "connection-readonly",
    message: "Connection is readonly",
    hint: "shouldConnectionBeReadonly() or setConnectionReadonly() made it so."
  }),
  StateTooLargeError: (sizeBytes: number, limitBytes: number) => ({
    code: "state-too-large",
    message: `The state is too large to store: ${sizeBytes} bytes, at most ${limitBytes}.`,
    hint: "Keep large collections in SQL tables and only what clients need to see in the state."
  }),
  StateNotSerializableError: (cause?: unknown) => ({
    code: "state-not-serializable",
    message: "The state cannot be written as JSON.",
    hint: "Remove functions, BigInts, circular references and top-level undefined.",
    cause
  }),
  AgentNameError: (name: string) => ({
    code: "agent-name-too-long",
    message: `The agent's name is too long: ${byteLength(name)} bytes, at most ${NAME_LIMIT_BYTES}.`,
    hint: "Use a shorter name: an id of your own, or a hash of the long one."
  }),
  UnnamedAgentError: (className: string) => ({
    code: "agent-unnamed",
    message: `This ${className} has no name: it was addressed by a raw id.`,
    hint:
      `Address agents by name: getAgentByName(namespace, name) or namespace.idFromName(name). ` +
      `A name of more than ${NAME_LIMIT_BYTES} bytes counts as none.`
  }),
  ConnectionTagError: (problem: string) => ({
    code: "connection-tags",
    message: `getConnectionTags() returned tags that cannot be used: ${problem}.`,
    hint: "A connection has at most 10 tags with its id, each a non-empty string of at most 256 characters."
  }),
  CallbackError: (message: string) => ({
    code: "invalid-callback",
    message,
    hint: "Pass the name of a method of the agent's class: the call happens later, possibly in another process, so a function cannot be kept."
  }),
  AllowedOriginsError: (entry: string) => ({
    code: "allowed-origins-invalid",
    message: `allowedOrigins contains "${entry}", which is not an origin.`,
    hint: 'An origin is a scheme and a host, as in "https://app.example.com"; "*" allows every one.'
  }),
  RetryOptionsError: (message: string) => ({
    code: "invalid-retry-options",
    message,
    hint: "Fields you leave out are filled from the class's static options before they are compared."
  }),
  RoutingRetryError: (field: string) => ({
    code: "routing-retry-invalid",
    message: `routingRetry.${field} must be a positive number.`,
    hint: "Use false to turn retries off."
  }),
  NotJsonError: (what: string, cause?: unknown) => ({
    code: "not-json",
    message: `The ${what} cannot be stored because it is not JSON.`,
    hint: `It must survive JSON.stringify${cause === undefined ? "" : `: ${errorMessage(cause)}`}. Functions, BigInt and cycles do not.`,
    cause
  }),
  TooLargeError: (what: string, sizeBytes: number, limitBytes: number) => ({
    code: "too-large",
    message: `The ${what} is too large to store: ${sizeBytes} bytes, at most ${limitBytes}.`,
    hint: "Store the data in a table or file of your own and pass a reference to it."
  })
});
