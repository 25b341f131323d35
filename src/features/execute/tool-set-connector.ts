// Tools of the AI SDK as functions for code: which name a tool has there, and what of it holds there too.
import type { Tool, ToolSet } from "ai";
import { typesOfConnector } from "./catalog.ts";
import {
  gateOf,
  sanitizeToolName,
  type Connector,
  type ConnectorContext,
  type ConnectorTool,
  type UnknownOutcome
} from "./connector.ts";
import { ExecuteDefinitionError } from "./errors.ts";

/** How tools are run so that the class's own hooks see them. */
export type RunTool = (name: string, tool: Tool, call: { input: unknown; context: ConnectorContext }) => unknown;

/** Tools of the AI SDK as `tools.*`. Throws ExecuteDefinitionError for two tools of one name. */
export class ToolSetConnector implements Connector {
  readonly #tools: ToolSet;
  readonly #run: RunTool;
  readonly #name: string;

  constructor(tools: ToolSet, run: RunTool = runPlainly, name = "tools") {
    this.#tools = tools;
    this.#run = run;
    this.#name = name;
  }

  name(): string {
    return this.#name;
  }

  /** As the model is shown them. Rejects with ExecuteDefinitionError for two tools of one name. */
  getTypeScriptTypes(): Promise<string> {
    return typesOfConnector(this);
  }

  tools(): Record<string, ConnectorTool> {
    const methods: Record<string, ConnectorTool> = {};
    for (const [toolName, tool] of Object.entries(this.#tools)) {
      if (tool === undefined) continue;
      if (typeof tool.execute !== "function") {
        warnOnce(`The tool "${toolName}" has no execute function: code cannot call it.`);
        continue;
      }
      const method = sanitizeToolName(toolName);
      if (Object.hasOwn(methods, method))
        throw new ExecuteDefinitionError(`Two tools would be ${this.#name}.${method} in code.`);
      methods[method] = this.#method(toolName, tool);
    }
    return methods;
  }

  #method(toolName: string, tool: Tool): ConnectorTool {
    const { description, inputSchema, outputSchema } = tool;
    const unknown: unknown = Reflect.get(tool, "onUnknownOutcome");
    const revert: unknown = Reflect.get(tool, "revert");
    return {
      description: typeof description === "string" ? description : undefined,
      inputSchema,
      outputSchema,
      requiresApproval: gateOf(tool.needsApproval),
      onUnknownOutcome: isUnknownOutcome(unknown) ? unknown : undefined,
      execute: (input, context) => this.#run(toolName, tool, { input, context }),
      revert:
        typeof revert === "function"
          ? (args: unknown, result: unknown, context: ConnectorContext): unknown => revert(args, result, context)
          : undefined
    };
  }
}

function isUnknownOutcome(value: unknown): value is UnknownOutcome {
  return value === "retry" || value === "fail" || value === "ask";
}

async function runPlainly(
  _name: string,
  tool: Tool,
  { input, context }: { input: unknown; context: ConnectorContext }
): Promise<unknown> {
  const { toolCallId, abortSignal } = context;
  const execute = tool.execute as ((input: unknown, options: object) => unknown) | undefined;
  return await execute?.(input, { toolCallId, messages: [], abortSignal, context: {} });
}

const warned = new Set<string>();

function warnOnce(text: string): void {
  if (warned.has(text) || warned.size > 100) return;
  warned.add(text);
  console.warn(text);
}
