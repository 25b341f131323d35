// What a provider is told of a tool, as text: for its size and for the index.
import type { Tool } from "ai";
import type { Sdk } from "../../model/index.ts";
import { estimateStringTokens } from "../../session/tokens.ts";
import { isObject } from "../../util/json.ts";
import { jsonOf } from "../../turn/tool-calls.ts";
import type { IndexedTool } from "./tool-index.ts";

export interface DescribedTool {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string;
  /** As JSON. */
  readonly inputSchema: unknown;
}

/** Never throws: a tool that cannot be described is found by its name. */
export async function describeTool(name: string, tool: Tool, sdk: Sdk): Promise<DescribedTool> {
  // A description may be a function of the SDK's; those are not called here.
  const { description, title } = tool as { description?: unknown; title?: unknown };
  return {
    name,
    title: typeof title === "string" ? title : undefined,
    description: typeof description === "string" ? description : "",
    inputSchema: await schemaOf(tool, sdk)
  };
}

async function schemaOf(tool: Tool, sdk: Sdk): Promise<unknown> {
  try {
    return jsonOf(await sdk.inputJsonSchema(tool.inputSchema));
  } catch {
    // The provider's call will say what is wrong with it.
    return {};
  }
}

/** Estimated. */
export function tokensOf({ name, description, inputSchema }: DescribedTool): number {
  return estimateStringTokens(JSON.stringify({ name, description, inputSchema }));
}

/** Properties of properties that are looked at. */
const MAX_DEPTH = 3;

export function indexedTool({ name, title, description, inputSchema }: DescribedTool, group: string): IndexedTool {
  return { name, title, description, group, parameters: parametersIn(inputSchema, MAX_DEPTH) };
}

function parametersIn(schema: unknown, depth: number): { name: string; description: string }[] {
  if (!isObject(schema) || depth === 0) return [];
  const { properties, items } = schema;
  const inner = isObject(properties) ? Object.entries(properties) : [];
  return [
    ...inner.flatMap(([name, property]) => {
      const description = isObject(property) ? property["description"] : undefined;
      const text = typeof description === "string" ? description : "";
      return [{ name, description: text }, ...parametersIn(property, depth - 1)];
    }),
    ...parametersIn(items, depth - 1)
  ];
}
