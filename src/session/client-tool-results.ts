// Results of tools that the client runs, found in the answers it posts. Only a call that waits for the client can be
// resolved this way; approvals, and anything the server runs, never. What the server has settled stays as it is. Pure.
import type { ReconcileInput, StoredText } from "./reconcile.ts";
import { isStoredToolPart, storedToolName, type SessionMessage } from "./session-message.ts";

const FAILED_TEXT = "The tool failed.";

export interface ClientToolResult {
  /** The stored answer that holds the call. */
  readonly messageId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly state: "output-available" | "output-error";
  readonly output?: unknown;
  readonly errorText?: string;
}

/** `held`: the stored form of the posted answer. Parsed only if a call in it still waits. */
export function clientToolResults(
  posted: SessionMessage,
  held: StoredText,
  { clientTools, stored }: Pick<ReconcileInput, "clientTools" | "stored">
): ClientToolResult[] {
  if (posted.role !== "assistant" || clientTools === undefined || clientTools.size === 0) return [];
  const offered = posted.parts.filter(isStoredToolPart).filter(({ state }) => isResultState(state));
  if (offered.length === 0 || held.role !== "assistant" || !held.text.includes('"input-available"')) return [];
  const answer = stored.parse(held);
  const waiting = (answer?.parts ?? []).filter(isStoredToolPart).filter((part) => part["state"] === "input-available");
  return waiting.flatMap((call): ClientToolResult[] => {
    // The name is the server's: a client must not resolve one tool in another's name.
    const part = offered.find(({ toolCallId }) => toolCallId === call.toolCallId);
    if (part === undefined || answer === undefined || !clientTools.has(storedToolName(call))) return [];
    const result = { messageId: answer.id, toolCallId: call.toolCallId, toolName: storedToolName(call) };
    if (part["state"] === "output-available") {
      return [{ ...result, state: "output-available", output: part["output"] ?? null }];
    }
    const { errorText } = part;
    return [{ ...result, state: "output-error", errorText: typeof errorText === "string" ? errorText : FAILED_TEXT }];
  });
}

function isResultState(state: unknown): boolean {
  return state === "output-available" || state === "output-error";
}
