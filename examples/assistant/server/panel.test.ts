// The words of the panel: what people are told of hooks and events.
import { expect, test } from "vitest";
import type { ToolCallResultContext } from "everthink";
import type { AgentEvent } from "everthink/observe";
import { eventNote, resultDetail } from "./panel.ts";

const incident = { incidentId: "i", requestId: "r", attempt: 2, maxAttempts: 5, recoveryKind: "continue" } as const;
const turn = { requestId: "r", trigger: "ws-chat", admission: "queue" } as const;
const event = (part: Pick<AgentEvent, "type" | "payload">) =>
  ({ agent: "Assistant", name: "a", timestamp: 7, ...part }) as AgentEvent;

test.each<[Pick<AgentEvent, "type" | "payload">, string]>([
  [{ type: "chat:turn:start", payload: turn }, "asked in the chat"],
  [
    { type: "chat:turn:finish", payload: { ...turn, status: "completed", durationMs: 1_424 } },
    "asked in the chat, completed, took 1.4 s"
  ],
  [
    { type: "chat:turn:finish", payload: { ...turn, trigger: "approval", status: "completed", durationMs: 114 } },
    "a decision was made, completed, took 114 ms"
  ],
  [
    { type: "chat:turn:finish", payload: { ...turn, status: "error", durationMs: 3, error: "No." } },
    "asked in the chat, failed, took 3 ms"
  ],
  [{ type: "chat:turn:start", payload: { ...turn, trigger: "of-tomorrow" } }, "of-tomorrow"],
  [{ type: "chat:recovery:attempt", payload: incident }, "attempt 2, goes on where it stopped"],
  [
    { type: "chat:recovery:skipped", payload: { ...incident, recoveryKind: "retry", reason: "continue_disabled" } },
    "attempt 2, starts again, continue disabled"
  ],
  [{ type: "action:ledger:settled", payload: { action: "publish_note", key: "k", inputHash: "h" } }, "publish_note"],
  [{ type: "tool:approval", payload: { toolCallId: "c", approved: true } }, "approved"],
  [{ type: "tool:approval", payload: { toolCallId: "c", approved: false } }, "rejected"]
])("an event is told in plain words, without ids (%#)", (part, detail) => {
  expect(eventNote(event(part))).toMatchObject({ kind: "event", name: part.type, at: 7, detail });
});

test("events that are not of the chat, an action or a tool are not shown", () => {
  expect(eventNote(event({ type: "queue:create", payload: { callback: "announce", id: "1" } }))).toBeUndefined();
});

const called = { toolName: "publish_note", durationMs: 1.2 };
test.each<[Partial<ToolCallResultContext>, string]>([
  [{ ...called, success: true, output: { id: 1 } }, "publish_note done in 1 ms"],
  [{ ...called, durationMs: 2_350, success: true, output: null }, "publish_note done in 2.4 s"],
  [{ ...called, success: false, error: new Error("no") }, "publish_note failed after 1 ms"],
  [{ ...called, success: true, output: { status: "paused" } }, "publish_note waits for a decision"]
])("a tool that ran is told with its time, an action that waits is not told as done (%#)", (result, detail) => {
  expect(resultDetail(result as ToolCallResultContext)).toBe(detail);
});
