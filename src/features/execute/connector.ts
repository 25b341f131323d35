// What code can call: namespaces with methods. A connector is described once per pass; its methods run on the host.
import { isObject } from "../../util/json.ts";
import { ExecuteDefinitionError } from "./errors.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

/** What a method is given besides its arguments. */
export interface ConnectorContext {
  /** The same over every pause and restart of the run. */
  readonly executionId: string;
  readonly seq: number;
  /** `<executionId>:<seq>`: give it to the service that is called, so that a repeated call has one effect. */
  readonly idempotencyKey: string;
  /** Of the call for services that know tool calls. */
  readonly toolCallId: string;
  readonly abortSignal: AbortSignal;
}

/**
 * What becomes of a call whose process died before its result was recorded. "retry": it is made again. "fail": it throws in
 * the code, as an error that says it may have run. "ask": a human decides.
 */
export type UnknownOutcome = "retry" | "fail" | "ask";

export interface ConnectorTool {
  readonly description?: string;
  /** Anything the AI SDK takes as a schema, or JSON Schema as an object. */
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  /** A human decides before it runs; a function decides by the arguments. */
  readonly requiresApproval?: boolean | ((args: unknown) => MaybePromise<boolean>);
  /** "reexecute": a read that is run again in every pass, and whose result is not recorded. */
  readonly replay?: "record" | "reexecute";
  /** Default: "ask" for a call that was approved, "retry" for a read of every pass, "fail" for others. */
  readonly onUnknownOutcome?: UnknownOutcome;
  execute(args: unknown, context: ConnectorContext): unknown;
  /** Undoes a call that was applied. */
  revert?(args: unknown, result: unknown, context: ConnectorContext): unknown;
}

/** A namespace of functions for code. */
export interface Connector {
  name(): string;
  /** One line for the model. */
  instructions?(): string | undefined;
  tools(): MaybePromise<Readonly<Record<string, ConnectorTool>>>;
  /** TypeScript declarations of its functions, as the model is shown them. Connectors that are classes of ours have it. */
  getTypeScriptTypes?(): Promise<string>;
  /** May change each tool. */
  tool?(name: string, tool: ConnectorTool): ConnectorTool | undefined;
  /** After every pass, also one that paused. */
  onPassEnd?(executionId: string, status: string): MaybePromise<void>;
  /** After the last one. */
  disposeExecution?(executionId: string, status: string): MaybePromise<void>;
}

/** A connector as one pass uses it. */
export interface OpenConnector {
  readonly name: string;
  readonly instructions: string | undefined;
  readonly tools: ReadonlyMap<string, ConnectorTool>;
  readonly source: Connector;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const RESERVED_WORDS = new Set(
  (
    "await break case catch class const continue debugger default delete do else enum export extends false finally for " +
    "function if implements import in instanceof interface let new null package private protected public return static " +
    "super switch this throw true try typeof var void while with yield arguments eval undefined"
  ).split(" ")
);
/** Names the harness uses, or that code expects to mean something else. */
const RESERVED_NAMES = new Set(["codemode", "console", "globalThis", "input", "tick", "Object", "Promise", "JSON"]);

/** Throws ExecuteDefinitionError. */
export async function openConnectors(connectors: readonly Connector[]): Promise<OpenConnector[]> {
  const opened: OpenConnector[] = [];
  for (const source of connectors) {
    const name = source.name();
    if (!IDENTIFIER.test(name) || RESERVED_WORDS.has(name) || RESERVED_NAMES.has(name))
      throw new ExecuteDefinitionError(`"${name}" cannot be the name of a connector.`);
    if (opened.some((other) => other.name === name))
      throw new ExecuteDefinitionError(`Two connectors are named "${name}".`);
    const tools = new Map<string, ConnectorTool>();
    for (const [method, tool] of Object.entries(await source.tools())) {
      tools.set(method, checkedTool(`${name}.${method}`, source.tool?.(method, tool) ?? tool));
    }
    opened.push({ name, instructions: source.instructions?.(), tools, source });
  }
  return opened;
}

function checkedTool(path: string, tool: ConnectorTool): ConnectorTool {
  if (!isObject(tool) || typeof tool.execute !== "function")
    throw new ExecuteDefinitionError(`${path} has no execute function.`);
  // A tool of the AI SDK may be given as it is: what it says about approvals holds here too.
  const needs: unknown = Reflect.get(tool, "needsApproval");
  const gate = tool.requiresApproval ?? (needs === undefined ? undefined : gateOf(needs));
  if (tool.replay === "reexecute" && gate !== undefined && gate !== false)
    throw new ExecuteDefinitionError(`${path} cannot need an approval and be run again in every pass.`);
  return gate === tool.requiresApproval ? tool : { ...tool, requiresApproval: gate };
}

/** Of `needsApproval`: in both majors a boolean or a function of the input. */
export function gateOf(needs: unknown): NonNullable<ConnectorTool["requiresApproval"]> {
  return typeof needs === "function" ? async (args: unknown) => Boolean(await needs(args, {})) : needs === true;
}

/** A name that code can write: `get-user` becomes `get_user`. */
export function sanitizeToolName(name: string): string {
  const plain = name.replaceAll(/[-. ]/g, "_").replaceAll(/[^\w$]/g, "");
  const named = /^\d/.test(plain) ? `_${plain}` : plain;
  return RESERVED_WORDS.has(named) ? `${named}_` : named;
}
