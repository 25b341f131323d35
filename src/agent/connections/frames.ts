// The base frames between a client and an agent: one schema at one entry. What is not one of these belongs to the
// user's `onMessage`.
import { isObject, parseJson } from "../../util/json.ts";

export type ClientFrame =
  { type: "state"; state: unknown } | { type: "rpc"; id: string; method: string; args: unknown[] };

/** The command in a text frame, or undefined when the frame is not one of ours. Never throws. */
export function parseClientFrame(text: string): ClientFrame | undefined {
  if (!text.startsWith("{")) return undefined;
  const parsed = parseJson(text);
  if (!parsed.ok || !isObject(parsed.value)) return undefined;
  const { type, state, id, method, args } = parsed.value;
  if (type === "cf_agent_state" && "state" in parsed.value) return { type: "state", state };
  if (type === "rpc" && typeof id === "string" && typeof method === "string" && Array.isArray(args)) {
    return { type: "rpc", id, method, args };
  }
  return undefined;
}

export const frames = {
  identity: (name: string, agent: string, stateFollows: boolean) =>
    JSON.stringify({ type: "cf_agent_identity", name, agent, ...(stateFollows && { stateFollows }) }),
  /** Takes the state as JSON text: it is stored that way, and large states are serialized once. */
  state: (stateJson: string) => `{"type":"cf_agent_state","state":${stateJson}}`,
  stateError: (error: string) => JSON.stringify({ type: "cf_agent_state_error", error }),
  mcpServers: (mcp: object) => JSON.stringify({ type: "cf_agent_mcp_servers", mcp }),
  rpcResult: (id: string, result: unknown, done: boolean) =>
    JSON.stringify({ type: "rpc", id, success: true, result, done }),
  rpcError: (id: string, error: string) => JSON.stringify({ type: "rpc", id, success: false, error }),
  failure: (error: string) => JSON.stringify({ error })
};
