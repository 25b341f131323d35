// Stored messages as inspectors see them: their parts as bounded text, their calls, and what in them waits for a person.
// Pure.
import type { UIMessage } from "ai";
import { isSettledToolPart, isToolPart, toolNameOf, type ToolPart } from "../../model/index.ts";
import { isObject } from "../../util/json.ts";
import { preview, shownText } from "./shown-text.ts";
import type { CallStatus, CallTimeline, InboxEntry, ShownMessage, ShownPart } from "./views.ts";

/** Parts of one message that are shown. */
const MAX_PARTS = 400;

export function shownMessage({ id, role, parts }: UIMessage): ShownMessage {
  const shown = parts.filter(({ type }) => type !== "step-start");
  return { id, role, parts: shown.slice(0, MAX_PARTS).map(shownPart) };
}

function shownPart(part: UIMessage["parts"][number]): ShownPart {
  if (isToolPart(part)) {
    const { toolCallId: callId, state, input, output, errorText } = part;
    const text = shownText(errorText ?? output ?? input ?? "");
    return { type: "tool", text, toolName: toolNameOf(part), callId, state };
  }
  if (part.type === "text" || part.type === "reasoning") return { type: part.type, text: shownText(part.text) };
  if (part.type === "file") {
    const { mediaType, filename, url } = part;
    const place = url.startsWith("data:") ? `${url.length} characters of data` : url;
    return { type: "file", text: shownText([filename, mediaType, place].filter(Boolean).join(" · ")) };
  }
  return { type: part.type, text: shownText(part) };
}

/** The texts of a message. */
export function textOf(message: UIMessage | undefined): string {
  const texts = message?.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])) ?? [];
  return texts.join("\n\n");
}

export function messagePreview(message: UIMessage | undefined): string | null {
  const text = preview(textOf(message));
  if (text !== "" || message === undefined) return text === "" ? null : text;
  const tools = message.parts.flatMap((part) => (isToolPart(part) ? [toolNameOf(part)] : []));
  return tools.length === 0 ? null : tools.join(", ");
}

/** The calls of a stored answer. When they ran is not kept there. */
export function callsOf(message: UIMessage | undefined): CallTimeline[] {
  return (message?.parts ?? []).flatMap((part) => (isToolPart(part) ? [callOf(part)] : []));
}

function callOf(part: ToolPart): CallTimeline {
  const { toolCallId: callId, input, output, errorText, approval, providerExecuted, clientExecuted } = part;
  const answer = errorText ?? output;
  return {
    callId,
    toolName: toolNameOf(part),
    executor: providerExecuted ? "provider" : clientExecuted ? "client" : "server",
    startedAt: null,
    settledAt: null,
    status: statusOf(part),
    input: shownText(input ?? null),
    output: answer === undefined ? null : shownText(answer),
    approval: approval
      ? {
          approvalId: approval.id,
          askedAt: null,
          answeredAt: null,
          approved: approval.approved ?? null,
          reason: approval.reason ?? null,
          by: null
        }
      : null
  };
}

function statusOf(part: ToolPart): CallStatus {
  switch (part.state) {
    case "output-available":
      return part.preliminary === true ? "running" : "output";
    case "output-error":
      return "error";
    case "output-denied":
      return "denied";
    case "approval-requested":
      return "waiting";
    default:
      return part.clientExecuted ? "waiting" : "running";
  }
}

/** Calls that wait for a person: to allow them, or, on a client's page, to answer them. */
export function waitingCalls(messages: readonly UIMessage[]): InboxEntry[] {
  return messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (isToolPart(part) && !isSettledToolPart(part) ? (inboxEntry(part) ?? []) : []))
  );
}

/** The call of an id that waits for a person. */
export function waitingPart(messages: readonly UIMessage[], callId: string): ToolPart | undefined {
  const parts = messages.flatMap((message) => message.parts.flatMap((part) => (isToolPart(part) ? [part] : [])));
  return parts.findLast((part) => part.toolCallId === callId && inboxEntry(part) !== undefined);
}

function inboxEntry(part: ToolPart): InboxEntry | undefined {
  const isAsked = part.state === "approval-requested";
  const isClients = part.clientExecuted === true && part.state === "input-available";
  if (!isAsked && !isClients) return undefined;
  const name = toolNameOf(part);
  const descriptor = part.approval?.descriptor;
  const { summary, risk, permissions }: Record<string, unknown> = isObject(descriptor) ? descriptor : {};
  const asked =
    typeof summary === "string" && summary !== "" ? summary : `May the model call "${name}" with this input?`;
  return {
    id: part.toolCallId,
    kind: isAsked ? "tool" : "client",
    name,
    question: isAsked ? asked : `A page of the user still has to answer "${name}".`,
    input: shownText(part.input ?? null),
    risk: typeof risk === "string" ? risk : null,
    permissions: Array.isArray(permissions) ? permissions.map(String) : [],
    inputHash: null,
    seq: null,
    mayHaveRun: false,
    askedAt: null,
    expiresAt: null,
    callId: part.toolCallId,
    isDecidable: isAsked
  };
}
