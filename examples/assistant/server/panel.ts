// What the panel "Underneath" is told while a turn runs: one short line per hook and event, without contents.
import type { ToolCallContext, ToolCallResultContext, StepContext, TurnContext } from "everthink";
import type { AgentEvent } from "everthink/observe";
import type { PanelNote } from "../shared/demo.ts";

const FORWARDED = ["chat:", "action:", "tool:"];

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

export function resultDetail({ toolName, success, durationMs }: ToolCallResultContext): string {
  return `${toolName} ${success ? "done" : "failed"} in ${Math.round(durationMs)} ms`;
}

/** Facts for people; ids and hashes would only fill the line. */
const SHOWN = [
  "recoveryKind",
  "attempt",
  "reason",
  "status",
  "durationMs",
  "trigger",
  "action",
  "toolName",
  "approved"
];

function detailOf(payload: object): string {
  return Object.entries(payload)
    .filter(([name]) => SHOWN.includes(name))
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(", ");
}
