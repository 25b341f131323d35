// What a tool part of a message says, in the words the cards use. The parts come over the wire, so their fields are
// looked at, not trusted. Pure.
import type { WaitingApproval } from "../think.ts";

/** As the AI SDK names them. */
type WireState =
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
  readonly state: WireState;
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
  return { server, tool, hint: describeToolAnnotations(field(mcp, "annotations")) };
}

/**
 * What an MCP server says about the effects of its tool, in words; undefined: nothing. It is the server's word.
 *
 * @example
 * <em>{describeToolAnnotations(tool.annotations)}</em>
 */
export function describeToolAnnotations(annotations: unknown): string | undefined {
  if (field(annotations, "readOnlyHint") === true) return "only reads";
  return field(annotations, "destructiveHint") === true ? "is destructive" : undefined;
}

/**
 * Whether a part of a message is a tool call. The other functions take such parts.
 *
 * @example
 * const calls = message.parts.filter(isToolPart);
 */
export function isToolPart(part: object): part is ToolPart {
  if (!("type" in part) || typeof part.type !== "string" || !("toolCallId" in part)) return false;
  return part.type === "dynamic-tool" || part.type.startsWith("tool-");
}

/**
 * What the tool is called: as its MCP server calls it, or as the model does.
 *
 * @example
 * <summary>{getToolName(part)}</summary>
 */
export function getToolName(part: ToolPart): string {
  const source = mcpSource(part);
  if (source !== undefined) return source.tool;
  return part.type === "dynamic-tool" ? (part.toolName ?? "tool") : part.type.slice("tool-".length);
}

/** The skill that a call is about, if it is one of the tools for skills. */
export function skillOf(part: ToolPart): string | undefined {
  const name = field(part.input, "name");
  return SKILL_TOOLS.has(getToolName(part)) && typeof name === "string" && name !== "" ? name : undefined;
}

/** The instructions of the skill are what the model works with from here on. */
export function isActivation(part: ToolPart): boolean {
  const isAnswered = part.state === "output-available" && typeof part.output === "string";
  return getToolName(part) === "activate_skill" && isAnswered && String(part.output).startsWith("<skill_content");
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

/** How far a call is. */
export type ToolCallState = "preparing" | "running" | "waiting" | "done" | "failed" | "refused";

/**
 * How far a call is, in one word: `preparing` while the model writes its input, `waiting` while a person has to decide,
 * `refused` when one said no or the question expired.
 *
 * @example
 * {getToolState(part) === "running" && <Spinner />}
 */
export function getToolState(part: ToolPart): ToolCallState {
  if (failureOf(part) !== undefined) return "failed";
  if (isParked(part)) return "waiting";
  switch (part.state) {
    case "input-streaming":
      return "preparing";
    case "input-available":
      return "running";
    case "approval-requested":
      return "waiting";
    case "approval-responded":
      return part.approval?.approved === false ? "refused" : "running";
    case "output-denied":
      return "refused";
    case "output-error":
      return "failed";
    case "output-available":
      if (part.preliminary === true) return "running";
      return REFUSED.has(field(part.output, "status")) ? "refused" : "done";
  }
}

/** What an action that was not allowed returns. */
const REFUSED: ReadonlySet<unknown> = new Set(["rejected", "expired"]);

/** The state as the card says it. */
export function stateWord(part: ToolPart): string {
  if (isParked(part)) return "waiting for a decision";
  const state = getToolState(part);
  if (part.state === "approval-requested") return "asks first";
  if (part.state === "approval-responded" && state === "running") return "approved";
  if (isActivation(part)) return "active";
  if (state !== "refused") return state;
  return field(part.output, "status") === "expired" ? "expired" : "rejected";
}

/**
 * What went into a call; undefined while the model writes it.
 *
 * @example
 * const { city } = getToolInput(part) as { city: string };
 */
export function getToolInput(part: ToolPart): unknown {
  return part.state === "input-streaming" ? undefined : part.input;
}

/**
 * What came out of a call. Undefined until there is something, also while it waits for a decision, and of a call that failed.
 *
 * @example
 * const weather = getToolOutput(part);
 */
export function getToolOutput(part: ToolPart): unknown {
  return getToolState(part) === "done" || part.preliminary === true ? part.output : undefined;
}

/** A question to a person, in words. */
export interface ToolApproval {
  readonly summary: string;
  readonly risk: string | undefined;
  /** What the call runs with: of code that waits, the input of the call inside of it. */
  readonly input: unknown;
  /** It waits as long as it takes: the page may be closed. */
  readonly isParked: boolean;
  /** What `approve` and `reject` take. Undefined: it is decided, and the outcome follows. */
  readonly asked: WaitingApproval | undefined;
}

/**
 * The question that a call asks a person; undefined if it asks none. `pending` is the client's `pendingApprovals`.
 *
 * @example
 * const question = getToolApproval(part, pendingApprovals);
 * if (question?.asked) await approve(question.asked);
 */
export function getToolApproval(part: ToolPart, pending: readonly WaitingApproval[]): ToolApproval | undefined {
  if (part.state !== "approval-requested" && !isParked(part)) return undefined;
  const descriptor = part.approvalDescriptor ?? part.approval?.descriptor;
  const asked = pending.find(({ callId }) => callId === part.toolCallId);
  const input = field(descriptor, "input") ?? part.input;
  return { ...approvalWords(descriptor, getToolName(part)), input, isParked: isParked(part), asked };
}

interface ApprovalWords {
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
