// Tools that a client describes and runs itself. Without an executor the call becomes a part the client answers, and
// the turn ends there; with one (a caller of `chat()` who brought it) the call is resolved inline like any other.
import { jsonSchema, type Tool, type ToolSet } from "ai";
import type { RecordedClientTool } from "../journal/records.ts";
import { isObject, type Json } from "../util/json.ts";
import { featureErrors } from "./errors.ts";

/** A tool as a client describes it. */
export interface ClientToolSchema {
  readonly name: string;
  readonly description?: string;
  /** JSON schema of the input. Default: any object. */
  readonly parameters?: Record<string, unknown>;
}

/** A client tool call that the caller of `chat()` is asked to resolve. */
export interface ClientToolCall {
  readonly toolName: string;
  readonly input: unknown;
  readonly toolCallId: string;
}

/** Its result is the tool's output; a throw is the tool's error. */
export type ClientToolExecutor = (call: ClientToolCall) => unknown;

/**
 * The caller of `chat()`, while this process lives: the origin of its turn. It is never stored, so the client tool calls
 * of a turn that goes on after a restart wait for an answer of any client.
 */
export class ChatCaller {
  readonly onClientToolCall: ClientToolExecutor | undefined;

  constructor(onClientToolCall: ClientToolExecutor | undefined) {
    this.onClientToolCall = onClientToolCall;
  }
}

/** Providers refuse longer names. */
const MAX_NAME_LENGTH = 128;

/** Checks what a caller gave and brings it into the stored form. */
export function parseClientTools(schemas: readonly ClientToolSchema[]): RecordedClientTool[] {
  return schemas.map((schema): RecordedClientTool => {
    if (!isObject(schema)) throw featureErrors.ClientToolError("it is not an object");
    const { name, description, parameters } = schema;
    if (typeof name !== "string" || name === "" || name.length > MAX_NAME_LENGTH || name === "__proto__") {
      throw featureErrors.ClientToolError(`its name must have 1 to ${MAX_NAME_LENGTH} characters`);
    }
    if (parameters !== undefined && !isObject(parameters)) {
      throw featureErrors.ClientToolError(`the parameters of "${name}" are not a JSON schema`);
    }
    // A JSON schema is JSON; anything else in it is lost when it is stored.
    return { name, description: description ?? null, parameters: (parameters ?? null) as Json };
  });
}

export interface ClientToolSet {
  readonly tools: ToolSet;
  /** Names that were described more than once; the last description counts. */
  readonly duplicates: readonly string[];
}

export function clientToolSet(described: readonly RecordedClientTool[], execute?: ClientToolExecutor): ClientToolSet {
  const tools = new Map<string, Tool>();
  const duplicates = new Set<string>();
  for (const { name, description, parameters } of described) {
    if (tools.has(name)) duplicates.add(name);
    const schema = jsonSchema<unknown>(isObject(parameters) ? parameters : { type: "object" });
    const declared = { description: description ?? "", inputSchema: schema };
    tools.set(name, execute === undefined ? declared : { ...declared, execute: delegate(name, execute) });
  }
  return { tools: Object.fromEntries(tools), duplicates: [...duplicates] };
}

function delegate(toolName: string, execute: ClientToolExecutor) {
  return async (input: unknown, { toolCallId }: { toolCallId: string }): Promise<unknown> =>
    execute({ toolName, input, toolCallId });
}
