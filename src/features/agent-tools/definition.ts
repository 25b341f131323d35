// What makes a tool an agent tool: the child's class and how it is run, carried by the tool itself. After a crash the
// parent finds it by the tool's name and goes on with the call.
import type { FlexibleSchema } from "ai";
import type { Result } from "../../util/result.ts";
import type { SubAgentClass } from "../../agent/tree/sub-agent-stub.ts";
import { toolOutputOf, type AgentToolDisplay, type BackgroundRun, type RunAgentToolResult } from "./run.ts";

export interface AgentToolOptions<Input = unknown, Output = unknown> {
  /** What the model reads about the tool. */
  readonly description: string;
  /** A Zod schema, or the SDK's `jsonSchema`. */
  readonly inputSchema: FlexibleSchema<Input>;
  /** Given, the tool returns the child's output in place of its summary. An output that does not match is a failure. */
  readonly outputSchema?: FlexibleSchema<Output>;
  /** What clients show: `display.name` and `display.icon`. */
  readonly displayName?: string;
  readonly icon?: string;
  readonly display?: AgentToolDisplay;
  /** As for `runAgentTool`. */
  readonly noProgressMs?: number;
  /** Who reads a steer that comes while the child works; see `runAgentTool`. */
  readonly steer?: "child" | "parent";
  /** The tool returns at once; see `runAgentTool`. */
  readonly detached?: boolean | BackgroundRun;
}

export interface AgentToolDefinition {
  readonly childClass: SubAgentClass;
  readonly options: Omit<AgentToolOptions, "inputSchema" | "outputSchema">;
  /** What the tool's output schema makes of an output; absent: the tool has none, and returns the summary. */
  readonly validate?: (output: unknown) => Promise<Result<unknown, unknown>>;
}

/** What a tool says about itself to clients. */
export function displayOfTool({ options }: AgentToolDefinition): AgentToolDisplay {
  const { display, displayName: name, icon } = options;
  return { ...display, ...(name !== undefined && { name }), ...(icon !== undefined && { icon }) };
}

/** What the model reads of a run. */
export async function toolOutput(
  result: RunAgentToolResult,
  definition: AgentToolDefinition | undefined
): Promise<unknown> {
  if (!definition?.validate || result.status !== "completed") return toolOutputOf(result);
  if (result.output === undefined) return toolOutputOf(result, { ok: false });
  const parsed = await definition.validate(result.output);
  return toolOutputOf(result, parsed.ok ? { ok: true, value: parsed.value } : { ok: false });
}
