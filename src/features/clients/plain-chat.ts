// Plain AI SDK clients on an agent's connections and requests: who may use which way in, and what a socket of theirs is.
import { socketOf, type Connection } from "../../agent/connections/connection.ts";
import type { AgentExtension } from "../../feature/agent-extension.ts";
import { pathBelowAgent } from "../../agent/own-path.ts";
import type { AgentRuntime } from "../../agent/runtime.ts";
import { chatResponse, openAIResponse, PlainChat, SocketChat, type ChatProtocol } from "../../wire/index.ts";
import type { TurnEngine } from "../../turn/engine.ts";
import { kebabCase } from "../../util/kebab.ts";
import { whenDone } from "../../util/maybe-promise.ts";
import { NotStartedError } from "../../think/errors.ts";
import type { ThinkOverrides } from "../../think/overrides.ts";

/** Directly below the agent's address. */
const ROUTE = /^\/(chat|v1)(\/.*)?$/s;

/** Sent by every client of the `cf_agent_*` protocol, at whatever path it connects. */
const CF_CLIENT_PARAMETER = "_pk";

/** WebSocket close code: the server was restarted, and the client may come back. */
const RESTARTED = { code: 1012, reason: "Restarted" };

export interface PlainChatExtensionInit {
  readonly runtime: AgentRuntime;
  readonly turns: TurnEngine;
  readonly submit: ChatProtocol["submit"];
  /** Of the class. */
  readonly settings: () => Pick<ThinkOverrides, "plainChat" | "openAIEndpoint">;
  /** The class has an `onConnect` of its own, which may be where it turns clients away. */
  readonly hasConnectHook: () => boolean;
}

export function plainChatExtension(init: PlainChatExtensionInit): AgentExtension {
  const { runtime, turns, submit, settings } = init;
  const { clock } = runtime;
  const newId = () => runtime.ids.next();
  const chat = new PlainChat({ turns, submit, newId });
  chats.set(runtime.agent, { chat, turns });
  const sockets = new SocketChat(chat);
  const isReadonly = (request: Request) => runtime.connections.isReadonlyRequest(request);
  const respond = (request: Request, name: string, rest: string): Promise<Response | undefined> | undefined => {
    const { plainChat = !init.hasConnectHook(), openAIEndpoint } = settings();
    if (name === "chat") return plainChat ? chatResponse(request, rest, { chat, clock, isReadonly }) : undefined;
    if (!openAIEndpoint) return undefined;
    const transcript = () => turns.transcript();
    const modelName = kebabCase(runtime.identity.className);
    return openAIResponse(request, rest, {
      chat,
      isReadonly,
      newId,
      transcript,
      modelName,
      clock
    });
  };
  return {
    dedicates: (path, request) =>
      settings().plainChat !== false && path === "/chat" && !new URL(request.url).searchParams.has(CF_CLIENT_PARAMETER),
    receive(connection, text) {
      if (!isDedicated(connection)) return false;
      return whenDone(sockets.receive(plainSocket(connection), text), () => true);
    },
    disconnected(connection) {
      if (isDedicated(connection)) sockets.closed(connection);
    },
    respond(request) {
      const [path, name = "", rest = ""] = ROUTE.exec(pathBelowAgent(request.url, runtime) ?? "") ?? [];
      return path === undefined ? undefined : respond(request, name, rest);
    },
    ready() {
      // What an earlier process was sending to a socket that outlived it is not known any more. Its client resumes.
      if (!turns.isBusy()) return;
      for (const connection of runtime.connections.list()) {
        if (isDedicated(connection)) connection.close(RESTARTED.code, RESTARTED.reason);
      }
    }
  };
}

/** For the package's own modules; user code has no name for it. */
const chats = new WeakMap<object, { readonly chat: PlainChat; readonly turns: TurnEngine }>();

/** For code of the agent, which may wait for the answer. Throws NotStartedError, and what `refuseNested` throws. */
export function plainChatOf(agent: object): PlainChat {
  const found = chats.get(agent);
  if (!found) throw new NotStartedError(agent.constructor.name);
  found.turns.refuseNested();
  return found.chat;
}

function isDedicated(connection: Connection): boolean {
  return socketOf(connection).attachment.dedicated === true;
}

function plainSocket(connection: Connection) {
  const socket = socketOf(connection);
  return {
    key: connection,
    isReadonly: socket.attachment.readonly,
    send: (frame: string) => socket.send(frame)
  };
}
