// What an extension reaches outside of its isolate: functions that live as long as one call of it, each checked against its
// permissions when it is called. They are passed with the call, so that nothing has to be exported by the Worker, a
// sub-agent's extension has its own agent behind them, and none of them can be used for another conversation.
import type { EventPayloads } from "../../observe/events.ts";
import { errorMessage } from "../../util/errors.ts";
import type { ExtensionBlock } from "./context-blocks.ts";
import { contextLabelsOf, type CheckedManifest } from "./manifest.ts";
import { gatedFetch } from "./network-gate.ts";
import { hasHost } from "./permissions.ts";

/** Calls of one run to files, conversation and network. */
const MAX_HOST_CALLS = 200;
const MAX_REQUESTS = 50;
const MAX_WRITTEN_CHARS = 1_000_000;
const MAX_MESSAGE_CHARS = 100_000;
const MAX_PATH_CHARS = 4_096;
/** Of `getMessages`: beyond one of them older messages are left out. */
const MAX_READ_MESSAGES = 1_000;
const MAX_READ_CHARS = 1_000_000;

/** The files that extensions with the permission may use. */
export interface ExtensionFiles {
  readFile(path: string): unknown;
  writeFile(path: string, content: string): unknown;
  readDir(path: string): unknown;
  rm(path: string): unknown;
  stat(path: string): unknown;
}

/** A message as extensions see it: `content` is its text. */
export interface ExtensionMessage {
  readonly id: string;
  readonly role: string;
  readonly content: string;
}

/** The conversation that extensions with the permissions may read and write. */
export interface ExtensionConversation {
  /** All of them or none. */
  addBlocks(blocks: readonly ExtensionBlock[]): Promise<void>;
  /** With `isForGood` their texts are deleted. */
  removeBlocks(labels: readonly string[], isForGood: boolean): Promise<void>;
  getContext(label: string): Promise<string | null>;
  setContext(label: string, content: string): Promise<void>;
  /** Newest first. */
  messages(): Iterable<ExtensionMessage>;
  messageCount(): Promise<number>;
  sendMessage(content: string, extensionName: string): Promise<void>;
}

export interface HostBridgeInit {
  readonly workspace?: ExtensionFiles | undefined;
  readonly conversation?: ExtensionConversation | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly emit?: ((event: EventPayloads["extension:host"]) => void) | undefined;
}

/** What an isolate is given with a call. */
export interface HostFunctions {
  readonly names: readonly string[];
  readonly maxCalls: number;
  readonly hasNetwork: boolean;
  readonly call: (name: unknown, args: unknown) => Promise<{ value: unknown } | { error: string }>;
}

type HostMethod = (args: readonly unknown[]) => unknown;

/** Refused once the signal fires: whatever goes on inside reaches nothing any more. */
export function hostFunctions(manifest: CheckedManifest, init: HostBridgeInit, signal: AbortSignal): HostFunctions {
  const { permissions, name: extensionName } = manifest;
  const methods: Record<string, HostMethod> = {
    ...fileMethods(manifest, init),
    ...conversationMethods(manifest, init)
  };
  const hosts = permissions.network;
  let calls = 0;
  let requests = 0;
  const send = async (args: readonly unknown[]): Promise<unknown> => {
    requests += 1;
    if (hosts.length === 0) throw new Error("Extension error: no network permission.");
    if (requests > MAX_REQUESTS) throw new Error(`Extension error: at most ${MAX_REQUESTS} requests are sent.`);
    return await gatedFetch(hosts, args, { fetch: init.fetch ?? fetch, signal });
  };
  const run = async (name: unknown, args: readonly unknown[]): Promise<unknown> => {
    if (signal.aborted) throw new Error("Extension error: the call is over.");
    calls += 1;
    if (calls > MAX_HOST_CALLS) throw new Error(`Extension error: at most ${MAX_HOST_CALLS} calls are answered.`);
    if (name === "fetch") return await send(args);
    const method = typeof name === "string" && Object.hasOwn(methods, name) ? methods[name] : undefined;
    if (!method) throw new Error("Extension error: there is no such function.");
    const value = await method(args);
    // What a message says is no target.
    const isNamed = name !== "sendMessage" && typeof args[0] === "string";
    const target = isNamed ? String(args[0]).slice(0, 200) : undefined;
    init.emit?.({ name: extensionName, method: String(name), target });
    return value;
  };
  return {
    names: hasHost(permissions) && (init.workspace ?? init.conversation) ? Object.keys(methods) : [],
    maxCalls: MAX_HOST_CALLS,
    hasNetwork: hosts.length > 0,
    call: async (name, args) => {
      try {
        return { value: await run(name, Array.isArray(args) ? args : []) };
      } catch (error) {
        return { error: errorMessage(error) };
      }
    }
  };
}

function fileMethods({ permissions }: CheckedManifest, { workspace }: HostBridgeInit): Record<string, HostMethod> {
  const open = (level: "read" | "read-write"): ExtensionFiles => {
    const isAllowed = permissions.workspace === "read-write" || permissions.workspace === level;
    if (!isAllowed) throw missing(`workspace "${level}"`);
    return workspace ?? unavailable("files");
  };
  return {
    readFile: ([path]) => open("read").readFile(textOf(path, "a path", MAX_PATH_CHARS)),
    listFiles: ([path]) => open("read").readDir(textOf(path, "a path", MAX_PATH_CHARS)),
    writeFile: async ([path, content]) => {
      const files = open("read-write");
      await files.writeFile(textOf(path, "a path", MAX_PATH_CHARS), textOf(content, "a text", MAX_WRITTEN_CHARS));
    },
    deleteFile: async ([given]) => {
      const files = open("read-write");
      const path = textOf(given, "a path", MAX_PATH_CHARS);
      const isThere = (await files.stat(path)) !== null;
      if (isThere) await files.rm(path);
      return isThere;
    }
  };
}

function conversationMethods(manifest: CheckedManifest, { conversation }: HostBridgeInit): Record<string, HostMethod> {
  const { name, permissions } = manifest;
  const { context, messages, session } = permissions;
  const writable = context.write === "own" ? contextLabelsOf(manifest) : context.write;
  const open = (isAllowed: boolean, permission: string): ExtensionConversation => {
    if (!isAllowed) throw missing(permission);
    return conversation ?? unavailable("conversation");
  };
  return {
    getContext: ([given]) => {
      const label = textOf(given, "a label", MAX_PATH_CHARS);
      const isAllowed = context.read === "all" || context.read.includes(label);
      return open(isAllowed, `context.read for "${label}"`).getContext(label);
    },
    setContext: async ([given, content]) => {
      const label = textOf(given, "a label", MAX_PATH_CHARS);
      const isAllowed = writable.includes(label);
      const text = () => textOf(content, "a text", MAX_WRITTEN_CHARS);
      await open(isAllowed, `context.write for "${label}"`).setContext(label, text());
    },
    getMessages: ([limit]) => newest(open(messages === "read", 'messages "read"'), limit),
    sendMessage: async ([content]) => {
      const target = open(session.sendMessage, "session.sendMessage");
      await target.sendMessage(textOf(content, "a text", MAX_MESSAGE_CHARS), name);
    },
    getSessionInfo: async () => ({ messageCount: await open(session.metadata, "session.metadata").messageCount() })
  };
}

/** In the order of the conversation. */
function newest(conversation: ExtensionConversation, limit: unknown): ExtensionMessage[] {
  const count = typeof limit === "number" ? Math.min(limit, MAX_READ_MESSAGES) : MAX_READ_MESSAGES;
  const kept: ExtensionMessage[] = [];
  let chars = 0;
  if (count <= 0) return kept;
  for (const message of conversation.messages()) {
    chars += message.content.length;
    if (chars > MAX_READ_CHARS) break;
    kept.push(message);
    if (kept.length >= count) break;
  }
  return kept.toReversed();
}

function textOf(value: unknown, what: string, maxChars: number): string {
  if (typeof value !== "string" || value.length > maxChars)
    throw new TypeError(`Extension error: ${what} of at most ${maxChars} characters is expected.`);
  return value;
}

function missing(permission: string): Error {
  return new Error(`Extension error: no permission ${permission}.`);
}

function unavailable(what: string): never {
  throw new Error(`Extension error: this agent has no ${what} for extensions.`);
}
