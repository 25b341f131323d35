// What the panel "Underneath" is told while a turn runs: one short line per hook and event, without contents.
import type { ToolCallContext, ToolCallResultContext, StepContext, TurnContext } from "everthink";
import type { AgentEvent } from "everthink/observe";
import type { PanelNote } from "../shared/demo.ts";

const FORWARDED = ["chat:", "action:", "tool:", "mcp:", "submission:"];

export function hookNote(name: string, detail: string, at: number): PanelNote {
  return { type: "panel", id: crypto.randomUUID(), at, kind: "hook", name, detail };
}

/** Undefined for events the panel does not show. */
export function eventNote({ type, payload, timestamp }: AgentEvent): PanelNote | undefined {
  if (!FORWARDED.some((prefix) => type.startsWith(prefix))) return undefined;
  return { ...hookNote(type, detailOf(payload), timestamp), kind: "event" };
}

export function stepNote(step: StepContext, at: number): PanelNote {
  const { inputTokens = 0, outputTokens = 0 } = step.usage;
  return { ...hookNote("onStepFinish", step.finishReason, at), usage: { inputTokens, outputTokens } };
}

export function turnDetail({ messages, tools, attempt, continuation }: TurnContext): string {
  const parts = [`${messages.length} message${messages.length === 1 ? "" : "s"}`, `${Object.keys(tools).length} tools`];
  if (attempt > 1) parts.push(`attempt ${attempt}`);
  if (continuation) parts.push("goes on");
  return parts.join(", ");
}

export const callDetail = ({ toolName }: ToolCallContext): string => toolName;

export function resultDetail(result: ToolCallResultContext): string {
  const { toolName, durationMs } = result;
  if (!result.success) return `${toolName} failed after ${durationText(durationMs)}`;
  return isParked(result.output)
    ? `${toolName} waits for a decision`
    : `${toolName} done in ${durationText(durationMs)}`;
}

/** The action did not run: what the model reads is that a human has to decide first. */
function isParked(output: unknown): boolean {
  return typeof output === "object" && output !== null && "status" in output && output.status === "paused";
}

const TRIGGERS = new Map([
  ["ws-chat", "asked in the chat"],
  ["approval", "a decision was made"],
  ["auto-continuation", "a tool has answered"],
  ["programmatic", "asked by code"],
  ["rpc", "asked by code"],
  ["submission", "submitted"],
  ["recovery-retry", "recovering"],
  ["recovery-continue", "recovering"]
]);
const RECOVERIES = new Map([
  ["retry", "starts again"],
  ["continue", "goes on where it stopped"]
]);

const STATUSES = new Map([
  ["error", "failed"],
  ["aborted", "stopped"]
]);

/** Facts for people, in their words; ids and hashes would only fill the line. */
const WORDS = new Map<string, (value: unknown) => string>([
  ["recoveryKind", (kind) => RECOVERIES.get(String(kind)) ?? String(kind)],
  ["attempt", (attempt) => `attempt ${String(attempt)}`],
  ["reason", (reason) => String(reason).replaceAll("_", " ")],
  ["status", (status) => STATUSES.get(String(status)) ?? String(status)],
  ["durationMs", (durationMs) => `took ${durationText(Number(durationMs))}`],
  ["trigger", (trigger) => TRIGGERS.get(String(trigger)) ?? String(trigger)],
  ["state", String],
  ["action", String],
  ["toolName", String],
  ["approved", (approved) => (approved === true ? "approved" : "rejected")]
]);

function detailOf(payload: object): string {
  const words = Object.entries(payload).map(([name, value]) => WORDS.get(name)?.(value) ?? "");
  return words.filter((word) => word !== "").join(", ");
}

function durationText(milliseconds: number): string {
  const whole = Math.round(milliseconds);
  return whole < 1_000 ? `${whole} ms` : `${(milliseconds / 1_000).toFixed(1)} s`;
}
