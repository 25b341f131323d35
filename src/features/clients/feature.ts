// Plain AI SDK clients on an agent's connections and requests: who may use which way in, and what a socket of theirs is.
import { runtimeOf } from "../../agent/runtime.ts";
import type { Feature } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { socketOf, type Connection } from "../../host/connection.ts";
import { whenDone } from "../../util/maybe-promise.ts";
import type { PlainChatMembers } from "./capability.ts";
import { openAIResponse } from "./openai/http.ts";
import { chatResponse } from "./plain/http.ts";
import { PlainChat } from "./plain/plain-chat.ts";
import { SocketChat } from "./plain/socket.ts";

/** The query parameter of every client of the `cf_agent_*` protocol, at whatever path it connects. */
const CF_CLIENT_PARAMETER = "_pk";

/** WebSocket close code: the server was restarted, and the client may come back. */
const RESTARTED = { code: 1012, reason: "Restarted" };

export interface PlainClientsFeature extends Feature {
  /** The chat for code of the agent, which may wait for the answer. Throws what `refuseNested` throws. */
  chatForCode(): PlainChat;
}

export function openPlainClients(services: ChatServices): PlainClientsFeature {
  const { turns, isOverridden } = services;
  // Only agents with these members open it.
  const settings = services.agent as PlainChatMembers;
  const chat = new PlainChat(services);
  const sockets = new SocketChat(chat);
  return {
    name: "plain-clients",
    chatForCode() {
      turns.refuseNested();
      return chat;
    },
    roles: {
      dedicates: (path, request) =>
        settings.plainChat !== false && path === "/chat" && !new URL(request.url).searchParams.has(CF_CLIENT_PARAMETER)
    },
    receive(connection, text) {
      if (!isDedicated(connection)) return false;
      return whenDone(sockets.receive(toPlainSocket(connection), text), () => true);
    },
    disconnected(connection) {
      if (isDedicated(connection)) sockets.closed(connection);
    },
    routes: {
      chat: (request, rest) => {
        // `onConnect` of the class may be where it turns clients away.
        const { plainChat = !isOverridden("onConnect") } = settings;
        return plainChat ? chatResponse(request, rest, chat) : undefined;
      },
      v1: (request, rest) => (settings.openAIEndpoint ? openAIResponse(request, rest, chat) : undefined)
    },
    ready() {
      // What an earlier process was sending to a socket that outlived it is not known any more. Its client resumes.
      if (!turns.isBusy()) return;
      for (const connection of runtimeOf(services.agent).connections.list()) {
        if (isDedicated(connection)) connection.close(RESTARTED.code, RESTARTED.reason);
      }
    }
  };
}

function isDedicated(connection: Connection): boolean {
  return socketOf(connection).attachment.dedicated === true;
}

function toPlainSocket(connection: Connection) {
  const socket = socketOf(connection);
  return {
    key: connection,
    isReadonly: socket.attachment.readonly,
    send: (frame: string) => socket.send(frame)
  };
}
