// Agents that were named because their data is not on this machine: by their addresses, or by an address of the app that lists
// those that wait. How the app knows them is its own: a directory that its agents notify, for one.
import { decodePercent } from "../../util/decode-percent.ts";
import { serveErrors } from "../serve/errors.ts";
import type { WaitingAgents } from "../local-data/waiting-agents.ts";

/** Of one list; the others are left out, and counted. */
const MAX_NAMED = 1_000;
const MAX_STEPS = 11;
const ANSWER_LIMIT_MS = 10_000;
const MAX_LIST_CHARS = 1_000_000;

export interface NamedAgentsInit {
  /** `<agent>/<instance>`, and for a sub-agent what follows it. */
  readonly addresses: readonly string[];
  /** Answers a JSON list of such addresses. */
  readonly listedAt: URL | undefined;
  /** Sent to `listedAt` as a bearer token. */
  readonly token: string | undefined;
}

/** An address as it stands in a URL: no part of it leads elsewhere. */
export function isAgentAddress(at: string): boolean {
  const parts = at.split("/");
  const isPart = (part: string) => {
    const name = decodePercent(part);
    return name !== undefined && name !== "" && name !== "." && name !== ".." && !/[?#\\\s]/.test(part);
  };
  return parts.length >= 2 && parts.length <= MAX_STEPS && parts.every(isPart);
}

/** Whether they wait is not known: each of them has to be asked. Throws an AgentListError when there is no list. */
export async function namedAgents({ addresses, listedAt, token }: NamedAgentsInit): Promise<WaitingAgents> {
  const listed = listedAt === undefined ? [] : await readList(listedAt, token);
  const all = [...new Set([...addresses, ...listed])];
  return {
    agents: all.slice(0, MAX_NAMED).map((at) => ({ at, stamp: null, waiting: [] })),
    unread: Math.max(0, all.length - MAX_NAMED)
  };
}

async function readList(url: URL, token: string | undefined): Promise<string[]> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  // The key goes to this address and to no other.
  const init: RequestInit = { headers, redirect: "error", signal: AbortSignal.timeout(ANSWER_LIMIT_MS) };
  const response = await fetch(url, init).catch(() => undefined);
  const text = response?.ok ? await response.text() : undefined;
  const list = text === undefined || text.length > MAX_LIST_CHARS ? undefined : listIn(text);
  if (list !== undefined) return list;
  const why = response === undefined ? "there is no answer" : response.ok ? "it is no list" : `${response.status}`;
  throw serveErrors.AgentListError(url.href, why);
}

function listIn(text: string): string[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isList = Array.isArray(value) && value.every((at) => typeof at === "string" && isAgentAddress(at));
    return isList ? value : undefined;
  } catch {
    // Not JSON.
    return undefined;
  }
}
