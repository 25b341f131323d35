// What may happen with a tool of an MCP server: the person's choice, or what the demo does until they choose.

export type ToolRule = "run" | "ask" | "hide";

/** Choices by the name under which the model calls a tool. */
export type ToolRules = Readonly<Record<string, ToolRule>>;

export const TOOL_RULES: readonly ToolRule[] = ["run", "ask", "hide"];

interface RuledTool {
  readonly key: string;
  readonly annotations?: { readonly readOnlyHint?: boolean };
}

/** What a server says only reads runs at once; everything else asks first. */
export function ruleOf({ key, annotations }: RuledTool, rules: ToolRules = {}): ToolRule {
  return rules[key] ?? (annotations?.readOnlyHint === true ? "run" : "ask");
}
