// `everthink state`: who an agent is, its state and its last messages. It listens only: nothing is sent to the agent.
import type { UIMessage } from "ai";
import type { CliContext } from "../cli-context.ts";
import { wholeNumber, type ParsedArguments } from "../command-line.ts";
import { connectionFailure, targetOf } from "../connect.ts";
import { messageText, printable, shortJson } from "../message-text.ts";
import { withProgress } from "../progress.ts";
import { targetUrl, type AgentTarget } from "../target.ts";

const CONNECT_LIMIT_MS = 15_000;
/** An agent without messages sends no list. */
const HISTORY_LIMIT_MS = 1_000;
const DEFAULT_MESSAGES = 10;

interface Seen {
  identity?: { agent: string; name: string };
  /** The agent announced a state frame. */
  stateFollows?: boolean;
  state?: unknown;
  messages?: UIMessage[];
}

export async function runState(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const limit = wholeNumber(parsed, "limit", { fallback: DEFAULT_MESSAGES });
  const target = targetOf(parsed, context);
  const seen = await withProgress(`Connecting to ${targetUrl(target)}`, context, listen(target));
  const endpoint = targetUrl(target);
  const all = seen.messages ?? [];
  const messages = limit === 0 ? [] : all.slice(-limit);
  if (parsed.flag("json")) {
    const { identity = null, state = null } = seen;
    context.print(JSON.stringify({ endpoint, identity, state, messages }, null, 2));
    return 0;
  }
  context.print(`Endpoint  ${endpoint}`);
  const { identity } = seen;
  context.print(printable(`Identity  ${identity ? `${identity.agent} ${identity.name}` : "not sent"}`));
  context.print(`State     ${seen.state === undefined ? "none" : shortJson(seen.state)}`);
  context.print(`Messages  ${messages.length} of ${all.length}`);
  for (const message of messages) context.print(messageText(message));
  return 0;
}

function listen(target: AgentTarget): Promise<Seen> {
  const url = new URL(targetUrl(target).replace(/^http/, "ws"));
  for (const [key, value] of Object.entries(target.query)) url.searchParams.set(key, value);
  const socket = new WebSocket(url);
  const seen: Seen = {};
  return new Promise((settle, fail) => {
    let isOver = false;
    const end = (result: () => void) => {
      // Closing makes further events.
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      socket.close();
      result();
    };
    let timer = setTimeout(() => end(() => fail(connectionFailure(target, "It did not answer."))), CONNECT_LIMIT_MS);
    socket.addEventListener("error", () => end(() => fail(connectionFailure(target, undefined))));
    socket.addEventListener("close", ({ reason }) => end(() => fail(connectionFailure(target, reason || undefined))));
    socket.addEventListener("message", ({ data }) => {
      const frame = readFrame(data);
      if (frame === undefined) return;
      if (frame.type === "cf_agent_identity") {
        seen.identity = { agent: String(frame["agent"]), name: String(frame["name"]) };
        seen.stateFollows = frame["stateFollows"] === true;
        clearTimeout(timer);
        timer = setTimeout(() => end(() => settle(seen)), HISTORY_LIMIT_MS);
      }
      if (frame.type === "cf_agent_state") seen.state = frame["state"];
      if (frame.type === "cf_agent_chat_messages" && Array.isArray(frame["messages"])) {
        seen.messages = frame["messages"] as UIMessage[];
      }
      if (isComplete(seen)) end(() => settle(seen));
    });
  });
}

/** Frames come in any order. */
function isComplete({ identity, stateFollows, state, messages }: Seen): boolean {
  return identity !== undefined && messages !== undefined && (!stateFollows || state !== undefined);
}

function readFrame(data: unknown): { type: string; [field: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(String(data));
    const isFrame = typeof value === "object" && value !== null && typeof Reflect.get(value, "type") === "string";
    return isFrame ? (value as { type: string }) : undefined;
  } catch {
    return undefined; // Not of the protocol.
  }
}
