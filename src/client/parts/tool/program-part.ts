// What the part of a program says. It comes over the wire, so its fields are looked at, not trusted. Pure.
import { inputLine, getToolName, type ToolPart } from "../tool/tool-part.ts";

export interface ProgramPart {
  readonly code: string;
  readonly executionId: string | undefined;
  readonly status: string;
  readonly printed: string;
  /** What goes into the calls that wait, in their order: a person decides about that. */
  readonly asked: readonly string[];
}

export function isProgram(part: ToolPart): boolean {
  return getToolName(part) === "execute" && typeof field(part.input, "code") === "string";
}

export function programOf(part: ToolPart): ProgramPart {
  const [id, status, logs, pending] = ["executionId", "status", "logs", "pending"].map((name) =>
    field(part.output, name)
  );
  return {
    code: String(field(part.input, "code") ?? ""),
    executionId: typeof id === "string" && id !== "" ? id : undefined,
    status: String(status ?? part.state),
    printed: Array.isArray(logs) ? logs.map(String).join("\n") : "",
    asked: Array.isArray(pending) ? pending.map((call, index) => inputLine(argsOf(part, call, index))) : []
  };
}

/** The transcript has the beginning of long arguments. The question, which is about the first call that waits, has all of them. */
function argsOf({ approvalDescriptor }: ToolPart, call: unknown, index: number): unknown {
  const asked = index === 0 ? field(approvalDescriptor, "input") : undefined;
  return asked ?? field(call, "args");
}

export type CallTone = "done" | "waiting" | "failed";

export function callWord(state: string): { readonly tone: CallTone; readonly word: string } {
  switch (state) {
    case "applied":
      return { tone: "done", word: "done" };
    case "pending":
      return { tone: "waiting", word: "waits for a decision" };
    case "reverted":
      return { tone: "failed", word: "not allowed" };
    case "failed":
    case "error":
      return { tone: "failed", word: "failed" };
    default:
      return { tone: "waiting", word: "under way" };
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
