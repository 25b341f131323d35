// What an extension may reach: checked when it is loaded, and asked at each of its calls.
import { isHostIn } from "../../util/address-list.ts";
import { isObject } from "../../util/json.ts";
import { ExtensionError } from "./errors.ts";

/** What an extension may reach. Nothing by default. */
export interface ExtensionPermissions {
  /** Hosts it may send https requests to: a name, or `*.example.com`. */
  readonly network?: readonly string[] | false;
  /** The files of the agent. */
  readonly workspace?: "none" | "read" | "read-write";
  /** Blocks of the system prompt, by full label. `own`: those that its manifest declares. */
  readonly context?: { readonly read?: "all" | readonly string[]; readonly write?: "own" | readonly string[] };
  /** The texts of the conversation. */
  readonly messages?: "none" | "read";
  readonly session?: { readonly sendMessage?: boolean; readonly metadata?: boolean };
  /**
   * What a `beforeTurn` hook may change. `observe`: nothing. `tune`: sampling, fewer steps, fewer tools. `rewrite`: also the
   * prompt, the messages, headers and the choice of a tool. Default: `observe`, and `rewrite` for those of `getExtensions()`.
   */
  readonly turn?: TurnAccess;
}

export type TurnAccess = "observe" | "tune" | "rewrite";

/** Permissions with nothing left open. */
export interface GrantedPermissions {
  readonly network: readonly string[];
  readonly workspace: "none" | "read" | "read-write";
  readonly context: { readonly read: "all" | readonly string[]; readonly write: "own" | readonly string[] };
  readonly messages: "none" | "read";
  readonly session: { readonly sendMessage: boolean; readonly metadata: boolean };
  readonly turn: TurnAccess;
}

export const NO_PERMISSIONS: GrantedPermissions = {
  network: [],
  workspace: "none",
  context: { read: [], write: [] },
  messages: "none",
  session: { sendMessage: false, metadata: false },
  turn: "observe"
};

const MAX_HOSTS = 50;
const MAX_LABELS = 100;
const HOST = /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/i;
const WORKSPACE_LEVELS = ["none", "read", "read-write"] as const;
const TURN_LEVELS = ["observe", "tune", "rewrite"] as const;

/** Throws ExtensionError. */
export function checkPermissions(name: string, given: Record<string, unknown>): GrantedPermissions {
  const { network, workspace = "none", context, messages = "none", session, turn = "observe" } = given;
  const files = WORKSPACE_LEVELS.find((one) => one === workspace);
  const access = TURN_LEVELS.find((one) => one === turn);
  if (files === undefined) throw new ExtensionError(`"${name}" asks for access to files that does not exist.`);
  if (access === undefined) throw new ExtensionError(`"${name}" asks for access to turns that does not exist.`);
  if (messages !== "none" && messages !== "read")
    throw new ExtensionError(`"${name}" asks for access to messages that does not exist.`);
  const hosts: unknown[] = Array.isArray(network) ? network : [];
  if (hosts.length > MAX_HOSTS || !hosts.every((one) => typeof one === "string" && HOST.test(one)))
    throw new ExtensionError(
      `The extension "${name}" may name at most ${MAX_HOSTS} hosts, as names such as api.example.com.`
    );
  const { read, write } = isObject(context) ? context : {};
  const { sendMessage, metadata } = isObject(session) ? session : {};
  return {
    network: hosts.map((one) => String(one).toLowerCase()),
    workspace: files,
    context: {
      read: read === "all" ? read : labelsOf(name, read),
      write: write === "own" ? write : labelsOf(name, write)
    },
    messages,
    session: { sendMessage: sendMessage === true, metadata: metadata === true },
    turn: access
  };
}

function labelsOf(name: string, given: unknown): string[] {
  if (given === undefined || given === null || given === false) return [];
  const labels: unknown[] = Array.isArray(given) ? given : [undefined];
  if (labels.length > MAX_LABELS || !labels.every((one) => typeof one === "string"))
    throw new ExtensionError(`"${name}" must name the context blocks it asks for in a list of labels.`);
  return labels.map(String);
}

/** Whether it has anything to call its host for. */
export function hasHost({ workspace, context, messages, session }: GrantedPermissions): boolean {
  const hasContext =
    context.read === "all" || context.write === "own" || context.read.length + context.write.length > 0;
  return workspace !== "none" || hasContext || messages === "read" || session.sendMessage || session.metadata;
}

/** What `asked` has beyond `ceiling`; undefined: nothing. */
export function beyondCeiling(asked: GrantedPermissions, ceiling: GrantedPermissions): string | undefined {
  const files = WORKSPACE_LEVELS.indexOf(asked.workspace) > WORKSPACE_LEVELS.indexOf(ceiling.workspace);
  if (files) return `workspace access "${asked.workspace}" (at most "${ceiling.workspace}")`;
  const host = asked.network.find((one) => !ceiling.network.some((allowed) => isHostIn(allowed, one)));
  return host === undefined ? undefined : `the host ${host}`;
}

/** One line per thing that it may do, for a human who decides over it. */
export function describePermissions(permissions: GrantedPermissions): string[] {
  const { network, workspace, context, messages, session, turn } = permissions;
  const labels = (given: string | readonly string[]) => (typeof given === "string" ? given : given.join(", "));
  return [
    ...(workspace === "none"
      ? []
      : [workspace === "read" ? "Reads your files" : "Reads, writes and deletes your files"]),
    ...network.map((host) => `Sends requests to ${host}`),
    ...(context.read.length > 0 ? [`Reads context: ${labels(context.read)}`] : []),
    ...(context.write.length > 0 ? [`Writes context: ${labels(context.write)}`] : []),
    ...(messages === "read" ? ["Reads the conversation"] : []),
    ...(session.sendMessage ? ["Adds messages to the conversation"] : []),
    ...(session.metadata ? ["Counts the messages"] : []),
    ...(turn === "observe" ? [] : [turn === "tune" ? "Tunes turns" : "Rewrites turns, the prompt included"])
  ];
}
