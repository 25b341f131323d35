// The chat protocol on an agent's connections: adapts connections and requests to it and back.
import type { UIMessage } from "ai";
import { Connection } from "../agent/connections/connection.ts";
import type { AgentExtension } from "../feature/agent-extension.ts";
import type { AgentRuntime } from "../agent/runtime.ts";
import {
  ChatProtocol,
  getMessagesResponse,
  isGetMessagesRequest,
  parseChatFrame,
  type ChatProtocolInit,
  type ChatSocket
} from "../wire/index.ts";
import type { MessageChanges } from "../session/message-changes.ts";
import { whenDone } from "../util/maybe-promise.ts";
import { plainChatExtension, type PlainChatExtensionInit } from "../features/clients/plain-chat.ts";

export interface ChatExtensionInit extends Omit<ChatProtocolInit, "sockets" | "isReadonly"> {
  readonly runtime: AgentRuntime;
  readonly messages: () => readonly UIMessage[];
  readonly changes: MessageChanges;
  readonly sweep: () => void;
  readonly plain: Pick<PlainChatExtensionInit, "settings" | "hasConnectHook">;
}

/** For clients of the `cf_agent_*` protocol and for plain ones. They stay apart from the start and the turns. */
export function chatExtensions(init: ChatExtensionInit): AgentExtension[] {
  const { runtime } = init;
  const known = new WeakMap<Connection, ChatSocket>();
  const socketOf = (connection: Connection): ChatSocket => {
    const socket = known.get(connection) ?? new ConnectionSocket(connection);
    known.set(connection, socket);
    return socket;
  };
  const followers = () => runtime.connections.list().filter((one) => runtime.agent.isConnectionProtocolEnabled(one));
  const protocol = new ChatProtocol({
    ...init,
    sockets: { list: () => followers().map(socketOf) },
    isReadonly: ({ key }) => key instanceof Connection && runtime.agent.isConnectionReadonly(key)
  });
  init.changes.subscribe((change) => protocol.messagesChanged(change));
  const frames: AgentExtension = {
    // Records that are past their time go before a visit can see them.
    entered: init.sweep,
    connected: (connection) => protocol.connected(socketOf(connection)),
    disconnected: (connection) => protocol.disconnected(socketOf(connection)),
    receive(connection, text) {
      const command = parseChatFrame(text);
      if (!command) return false;
      return whenDone(protocol.receive(socketOf(connection), command), () => true);
    },
    respond: (request) => (isGetMessagesRequest(request) ? getMessagesResponse(request, init.messages) : undefined)
  };
  // In front: every frame of a plain client's socket is its own.
  return [plainChatExtension({ ...init.plain, runtime, turns: init.turns, submit: protocol.submit }), frames];
}

class ConnectionSocket implements ChatSocket {
  readonly key: Connection;

  constructor(connection: Connection) {
    this.key = connection;
  }

  get isOpen(): boolean {
    return this.key.isOpen;
  }

  send(frame: string): boolean {
    return this.key.send(frame);
  }
}
