// What a tool part of a message says, in the words the cards use. The parts come over the wire, so their fields are
// looked at, not trusted. Pure.

export type ToolState =
  | "input-streaming"
  | "input-available"
  | "approval-requested"
  | "approval-responded"
  | "output-available"
  | "output-error"
  | "output-denied";

export interface ToolPart {
  readonly type: string;
  readonly toolCallId: string;
  readonly toolName?: string;
  readonly state: ToolState;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly errorText?: string;
  readonly preliminary?: boolean;
  readonly approval?: { readonly approved?: boolean; readonly reason?: string; readonly descriptor?: unknown };
  readonly approvalDescriptor?: unknown;
  readonly toolMetadata?: unknown;
}

const SKILL_TOOLS: ReadonlySet<string> = new Set(["activate_skill", "read_skill_resource", "run_skill_script"]);

/** Which tool of which MCP server it is, and what that server says about it. */
export interface McpSource {
  readonly server: string;
  readonly tool: string;
  readonly hint: string | undefined;
}

export function mcpSource(part: ToolPart): McpSource | undefined {
  const mcp = field(part.toolMetadata, "mcp");
  const [server, tool] = [field(mcp, "serverName"), field(mcp, "toolName")];
  if (typeof server !== "string" || typeof tool !== "string") return undefined;
  return { server, tool, hint: hintWords(field(mcp, "annotations")) };
}

/** What a server says about the effects of its tool; undefined: nothing. */
export function hintWords(annotations: unknown): string | undefined {
  if (field(annotations, "readOnlyHint") === true) return "only reads";
  return field(annotations, "destructiveHint") === true ? "is destructive" : undefined;
}

export function isToolPart(part: object): part is ToolPart {
  if (!("type" in part) || typeof part.type !== "string" || !("toolCallId" in part)) return false;
  return part.type === "dynamic-tool" || part.type.startsWith("tool-");
}

/** As its MCP server calls it, or as the model does. */
export function toolName(part: ToolPart): string {
  const source = mcpSource(part);
  if (source !== undefined) return source.tool;
  return part.type === "dynamic-tool" ? (part.toolName ?? "tool") : part.type.slice("tool-".length);
}

/** The skill that a call is about, if it is one of the tools for skills. */
export function skillOf(part: ToolPart): string | undefined {
  const name = field(part.input, "name");
  return SKILL_TOOLS.has(toolName(part)) && typeof name === "string" && name !== "" ? name : undefined;
}

/** The instructions of the skill are what the model works with from here on. */
export function isActivation(part: ToolPart): boolean {
  const isAnswered = part.state === "output-available" && typeof part.output === "string";
  return toolName(part) === "activate_skill" && isAnswered && String(part.output).startsWith("<skill_content");
}

/** An action that waits for a person as long as it takes. */
export function isParked(part: ToolPart): boolean {
  return part.state === "output-available" && field(part.output, "status") === "paused";
}

/** Between 0 and 1, while a tool reports how far it is. */
export function progressOf(part: ToolPart): number | undefined {
  if (part.preliminary !== true) return undefined;
  const progress = field(part.output, "progress");
  return typeof progress === "number" ? Math.min(1, Math.max(0, progress)) : undefined;
}

/** The change that a tool made to a file, apart from the rest of what it said. */
export function withDiff(output: unknown): { readonly diff?: string; readonly output: unknown } {
  const diff = field(output, "diff");
  if (typeof diff !== "string" || typeof output !== "object") return { output };
  return { diff, output: { ...output, diff: undefined } };
}

/** How the tool says that a script of a skill did not do what it should. */
const SCRIPT_FAILED = "Skill script failed: ";

/** Why it failed: what the tool threw, or the error an action gave as its output. */
export function failureOf(part: ToolPart): string | undefined {
  if (part.state === "output-error") return part.errorText ?? "The tool failed.";
  if (part.state !== "output-available" || part.preliminary === true) return undefined;
  const { output } = part;
  if (typeof output === "string" && output.startsWith(SCRIPT_FAILED) && skillOf(part) !== undefined)
    return output.slice(SCRIPT_FAILED.length);
  const error = field(output, "error");
  if (typeof error === "string") return error;
  const message = field(error, "message");
  return typeof message === "string" ? message : undefined;
}

export type CardTone = "busy" | "done" | "failed" | "waiting" | "refused";

/** One word for the state, and how it looks. */
export function toneOf(part: ToolPart): { readonly tone: CardTone; readonly word: string } {
  if (failureOf(part) !== undefined) return { tone: "failed", word: "failed" };
  if (isParked(part)) return { tone: "waiting", word: "waiting for a decision" };
  switch (part.state) {
    case "input-streaming":
      return { tone: "busy", word: "preparing" };
    case "input-available":
      return { tone: "busy", word: "running" };
    case "approval-requested":
      return { tone: "waiting", word: "asks first" };
    case "approval-responded":
      return part.approval?.approved === false
        ? { tone: "refused", word: "rejected" }
        : { tone: "busy", word: "approved" };
    case "output-denied":
      return { tone: "refused", word: "rejected" };
    case "output-error":
      return { tone: "failed", word: "failed" };
    case "output-available":
      return settledTone(part);
  }
}

function settledTone(part: ToolPart): { readonly tone: CardTone; readonly word: string } {
  if (part.preliminary === true) return { tone: "busy", word: "running" };
  const status = field(part.output, "status");
  if (isActivation(part)) return { tone: "done", word: "active" };
  if (status === "rejected" || status === "expired") return { tone: "refused", word: status };
  return { tone: "done", word: "done" };
}

export interface ApprovalWords {
  readonly summary: string;
  readonly risk: string | undefined;
}

/** What the agent says about a call that waits for a person. */
export function approvalWords(descriptor: unknown, tool: string): ApprovalWords {
  const summary = field(descriptor, "summary");
  const risk = field(descriptor, "risk");
  return {
    summary: typeof summary === "string" && summary !== "" ? summary : `Run ${tool}`,
    risk: typeof risk === "string" ? risk : undefined
  };
}

/** One line for the closed card, without what it shows elsewhere. */
export function inputLine(input: unknown, shown: readonly string[] = []): string {
  if (typeof input !== "object" || input === null) return input === undefined ? "" : String(input);
  return Object.entries(input)
    .filter(([name]) => !shown.includes(name))
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" · ");
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
