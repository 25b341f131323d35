// Plain AI SDK clients on an agent's connections and requests: who may use which way in, and what a socket of theirs is.
import { socketOf, type Connection } from "../agent/connections/connection.ts";
import type { AgentExtension } from "../agent/extension.ts";
import { pathBelowAgent } from "../agent/own-path.ts";
import type { AgentRuntime } from "../agent/runtime.ts";
import { chatResponse, PlainChat, SocketChat, type ChatProtocol } from "../chat/index.ts";
import type { TurnEngine } from "../turn/engine.ts";

/** Directly below the agent's address. */
const ROUTE = /^\/chat(\/.*)?$/s;

/** Sent by every client of the `cf_agent_*` protocol, at whatever path it connects. */
const CF_CLIENT_PARAMETER = "_pk";

/** WebSocket close code: the server was restarted, and the client may come back. */
const RESTARTED = { code: 1012, reason: "Restarted" };

export interface PlainChatExtensionInit {
  readonly runtime: AgentRuntime;
  readonly turns: TurnEngine;
  readonly submit: ChatProtocol["submit"];
  /** `plainChat` of the class. */
  readonly setting: () => boolean | undefined;
  /** The class has an `onConnect` of its own, which may be where it turns clients away. */
  readonly hasConnectHook: () => boolean;
}

export function plainChatExtension(init: PlainChatExtensionInit): AgentExtension {
  const { runtime, turns, submit, setting } = init;
  const chat = new PlainChat({ turns, submit, newId: () => runtime.ids.next() });
  const sockets = new SocketChat(chat);
  const isHttpOn = () => setting() ?? !init.hasConnectHook();
  return {
    dedicates: (path, request) =>
      setting() !== false && path === "/chat" && !new URL(request.url).searchParams.has(CF_CLIENT_PARAMETER),
    receive(connection, text) {
      if (!isDedicated(connection)) return false;
      sockets.receive(plainSocket(connection), text);
      return true;
    },
    disconnected(connection) {
      if (isDedicated(connection)) sockets.closed(connection);
    },
    respond(request) {
      const [path, rest = ""] = ROUTE.exec(pathBelowAgent(request.url, runtime) ?? "") ?? [];
      if (path === undefined || !isHttpOn()) return undefined;
      return chatResponse(request, rest, {
        chat,
        isReadonly: (asked) => runtime.connections.isReadonlyRequest(asked)
      });
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
