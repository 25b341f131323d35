// Stored messages as the model reads them. Afterwards every tool call has its result and every result its call, inputs
// are objects, provider metadata is as it was stored, what is empty is left out, and one bad part (an unreadable file
// address, a renderer that throws) costs that part and not the conversation. Repairing what is stored, and truncation, are left to others.
import type { ModelMessage, ToolSet, UIMessage } from "ai";
import { encodeBase64 } from "../util/bytes.ts";
import { isRefused } from "../util/refused-files.ts";
import { withoutEmpty } from "./empty-content.ts";
import type { Sdk } from "./sdk.ts";
import {
  asMessagePart,
  isApprovedToolPart,
  isSettledToolPart,
  isToolPart,
  toolInputObject,
  toolNameOf,
  type MessagePart,
  type ToolPart
} from "./tool-part.ts";

/** Never stored. Current providers refuse a prompt that ends in an assistant message. */
export const CONTINUE_TEXT =
  "Continue your previous response exactly where it stopped. Do not repeat anything you have already written.";

/** Never stored. Stands for a question without words, which providers refuse. */
export const NO_TEXT = "[The user's message has no text.]";

const DENIED_TEXT = "The user did not allow this tool call.";

export interface DroppedCall {
  readonly messageId: string;
  readonly toolCallId: string;
  readonly toolName: string;
}

export interface CodecOptions {
  /** The turn's tools: their `toModelOutput` renders old outputs too. */
  readonly tools?: ToolSet;
  /** Hears of calls that are left out because they have no result yet. */
  readonly onDropped?: (calls: readonly DroppedCall[]) => void;
  /** Hears of renderers that threw. */
  readonly log?: (message: string, error: unknown) => void;
}

/**
 * The conversion of a whole history.
 *
 * @example const messages = endInQuestion(await toModelMessages(sdk, history, { tools }));
 */
export async function toModelMessages(
  sdk: Sdk,
  messages: readonly UIMessage[],
  options: CodecOptions = {}
): Promise<ModelMessage[]> {
  const { messages: prepared, dropped } = prepareMessages(messages);
  if (dropped.length > 0) options.onDropped?.(dropped);
  const converted = await sdk.toModelMessages(prepared, dependableRenderers(options));
  const spoken = withoutEmpty(converted);
  const last = converted.at(-1);
  // The newest question keeps its place: left out, the model would go on with its last answer.
  const isAskedNothing = last?.role === "user" && withoutEmpty([last]).length === 0;
  return isAskedNothing ? [...spoken, { role: "user", content: [{ type: "text", text: NO_TEXT }] }] : spoken;
}

/** Adds a request to go on when the last word is the assistant's; otherwise returns the same list. */
export function endInQuestion(messages: ModelMessage[], request = CONTINUE_TEXT): ModelMessage[] {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return messages;
  return [...messages, { role: "user", content: [{ type: "text", text: request }] }];
}

/** Ids of tool calls without a result and of results without a call. Empty for everything this file produces. */
export function unpairedCallIds(messages: readonly ModelMessage[]): string[] {
  const open = new Set<string>();
  const orphans: string[] = [];
  for (const message of messages) {
    if (typeof message.content === "string") continue;
    for (const part of message.content) {
      if (part.type === "tool-call") open.add(part.toolCallId);
      if (part.type === "tool-result" && !open.delete(part.toolCallId)) orphans.push(part.toolCallId);
    }
  }
  return [...open, ...orphans];
}

export interface PreparedMessages {
  readonly messages: UIMessage[];
  readonly dropped: readonly DroppedCall[];
}

/** The history with every tool part either complete, about to be executed by the SDK, or left out. Pure. */
export function prepareMessages(messages: readonly UIMessage[]): PreparedMessages {
  const dropped: DroppedCall[] = [];
  const names = new CallNames(messages);
  const prepared = messages.map((message, index): UIMessage => {
    if (!message.parts.some((part) => part.type === "file" || isToolPart(part))) return message;
    const resumable = index === messages.length - 1 ? lastStepStart(message) : message.parts.length;
    const parts = message.parts.flatMap((part, partIndex): MessagePart[] => {
      if (part.type === "file") return [readableFile(part, message)];
      if (!isToolPart(part)) return [part];
      const complete = completePart(part, partIndex >= resumable);
      if (complete !== undefined) return [asMessagePart(names.rename(complete))];
      dropped.push({ messageId: message.id, toolCallId: part.toolCallId, toolName: toolNameOf(part) });
      return [];
    });
    return { ...message, parts };
  });
  return { messages: prepared, dropped };
}

function lastStepStart(message: UIMessage): number {
  return Math.max(
    0,
    message.parts.findLastIndex((part) => part.type === "step-start")
  );
}

/** Conversations of other programs, and old ones, have calls of one id: a provider would take their results for one's. */
class CallNames {
  readonly #seen: Set<string>;

  constructor(messages: readonly UIMessage[]) {
    // The SDK runs these and answers them by their id, so that one stays.
    const waiting = messages
      .at(-1)
      ?.parts.flatMap((part) => (isToolPart(part) && isApprovedToolPart(part) ? [part] : []));
    this.#seen = new Set(waiting?.map(({ toolCallId }) => toolCallId));
  }

  rename(part: ToolPart): ToolPart {
    if (part.state === "approval-responded") return part;
    const { toolCallId } = part;
    let id = toolCallId;
    for (let count = 2; this.#seen.has(id); count += 1) id = `${toolCallId}_${count}`;
    this.#seen.add(id);
    return id === toolCallId ? part : { ...part, toolCallId: id };
  }
}

function completePart(part: ToolPart, isResumable: boolean): ToolPart | undefined {
  // What a broken call really said is shown to users only, and a changed input is told in the prompt; ai 7 warns about the field.
  const { rawInput, inputEncoding: _encoding, askedInput: _asked, ...rest } = part;
  const call: ToolPart = { ...rest, input: toolInputObject(part.input ?? rawInput) };
  if (part.state === "output-denied" || (part.state === "approval-responded" && part.approval?.approved === false)) {
    return denied(call);
  }
  if (isSettledToolPart(part)) return part.providerExecuted === true ? call : withoutApproval(call);
  // The SDK executes an approved call before it asks the model, but only if it is the newest thing that happened.
  if (part.state === "approval-responded" && isResumable) return call;
  return undefined;
}

/** A refusal is a result like any other, or the provider would miss one. */
function denied(part: ToolPart): ToolPart {
  if (part.providerExecuted === true) return { ...part, state: "approval-responded" };
  const { reason } = part.approval ?? {};
  return { ...withoutApproval(part), state: "output-error", errorText: reason ?? DENIED_TEXT };
}

/** For a settled call the question is history; sent again, the SDK would want to act on it. */
function withoutApproval(part: ToolPart): ToolPart {
  const { approval: _settled, approvalDescriptor: _descriptor, ...rest } = part;
  return rest;
}

function readableFile(part: Extract<MessagePart, { type: "file" }>, message: UIMessage): MessagePart {
  if (isRefused(message, part)) {
    const name = part.filename === undefined ? "A file" : `The file "${part.filename}"`;
    return { type: "text", text: `[${name} (${part.mediaType}) is not shown: it could not be read when it was sent]` };
  }
  if (URL.canParse(part.url) || part.providerReference !== undefined) return inBase64(part);
  return { type: "text", text: `[${part.filename ?? "A file"} (${part.mediaType}) cannot be shown]` };
}

/** Data that is written as text: the SDK takes every data URL for base64. */
function inBase64(part: Extract<MessagePart, { type: "file" }>): MessagePart {
  const comma = part.url.startsWith("data:") ? part.url.indexOf(",") : -1;
  const type = part.url.slice(0, comma);
  if (comma < 0 || /;base64$/i.test(type)) return part;
  try {
    const bytes = new TextEncoder().encode(decodeURIComponent(part.url.slice(comma + 1)));
    return { ...part, url: `${type};base64,${encodeBase64(bytes)}` };
  } catch {
    // A percent sign that stands for nothing: the provider may judge it.
    return part;
  }
}

/** A renderer written for its own outputs may meet a shortened or an old one. */
function dependableRenderers(options: CodecOptions): ToolSet {
  const tools: ToolSet = {};
  for (const [name, tool] of Object.entries(options.tools ?? {})) {
    const render = tool.toModelOutput?.bind(tool);
    tools[name] =
      render === undefined
        ? tool
        : {
            ...tool,
            toModelOutput: async (result: Parameters<typeof render>[0]) => {
              try {
                return await render(result);
              } catch (error) {
                (options.log ?? console.warn)(`toModelOutput of "${name}" failed; its plain output is sent.`, error);
                return plainOutput(result.output);
              }
            }
          };
  }
  return tools;
}

function plainOutput(output: unknown) {
  if (typeof output === "string") return { type: "text" as const, value: output };
  // What a tool returned was stored as JSON, so it is JSON; undefined is the one value JSON has no word for.
  return { type: "json" as const, value: JSON.parse(JSON.stringify(output) ?? "null") };
}
