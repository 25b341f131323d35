// What became of a tool call, in one shape, whichever way the prompt tells it: as a result, as an error, as a refusal, or
// as the report of an action. Pure.
import type { PromptMessage } from "../language-model.ts";

export type Outcome =
  | { readonly kind: "done"; readonly value: unknown }
  /** An action waits for a person. */
  | { readonly kind: "waiting" }
  /** A person said no. */
  | { readonly kind: "refused"; readonly reason: string | undefined }
  /** No human decided in time. */
  | { readonly kind: "expired" }
  /** The process died while it ran. */
  | { readonly kind: "interrupted" }
  | { readonly kind: "failed"; readonly message: string };

type ToolMessage = Extract<PromptMessage, { role: "tool" }>;
type Output = Extract<ToolMessage["content"][number], { type: "tool-result" }>["output"];

/** How the library says that a call was cut off, and that a person refused one. */
const INTERRUPTED = "The call was interrupted";
const REFUSED = "The user did not allow this tool call";

export function outcomeOf(output: Output): Outcome {
  switch (output.type) {
    case "execution-denied":
      return { kind: "refused", reason: output.reason };
    case "error-text":
      return inWords(output.value);
    case "error-json":
      return { kind: "failed", message: JSON.stringify(output.value) };
    case "json":
      return reported(output.value) ?? { kind: "done", value: output.value };
    default:
      return { kind: "done", value: output.value };
  }
}

function inWords(text: string): Outcome {
  if (text.startsWith(INTERRUPTED)) return { kind: "interrupted" };
  if (text.startsWith(REFUSED)) return { kind: "refused", reason: undefined };
  return { kind: "failed", message: text };
}

/** The outputs of actions say themselves that they failed or wait. */
function reported(value: unknown): Outcome | undefined {
  const status = fieldOf(value, "status");
  if (status === "paused") return { kind: "waiting" };
  if (status === "expired") return { kind: "expired" };
  if (status === "rejected") return { kind: "refused", reason: textIn(value, "reason") };
  if (status === "error") return { kind: "failed", message: textIn(value, "error") ?? "It failed." };
  const message = textIn(fieldOf(value, "error"), "message");
  return message === undefined ? undefined : { kind: "failed", message };
}

export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

export function textIn(value: unknown, name: string): string | undefined {
  const field = fieldOf(value, name);
  return typeof field === "string" ? field : undefined;
}

export function numberIn(value: unknown, name: string): number | undefined {
  const field = fieldOf(value, name);
  return typeof field === "number" ? field : undefined;
}
