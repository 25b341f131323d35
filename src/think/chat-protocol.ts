// The chat protocol on an agent's connections: adapts connections to it and back.
import { Connection } from "../host/connection.ts";
import type { Feature } from "../feature/feature.ts";
import type { AgentRuntime } from "../agent/runtime.ts";
import { ChatProtocol, parseChatFrame, type ChatProtocolInit, type ChatSocket } from "../wire/index.ts";
import type { MessageChanges } from "../session/message-changes.ts";
import { whenDone } from "../util/maybe-promise.ts";

export interface ChatFeatureInit extends Omit<ChatProtocolInit, "sockets" | "isReadonly"> {
  readonly runtime: AgentRuntime;
  readonly changes: MessageChanges;
}

export interface ChatFeature extends Feature {
  readonly submitCommand: ChatProtocol["submit"];
}

/** For clients of the `cf_agent_*` protocol. */
export function chatFeature(init: ChatFeatureInit): ChatFeature {
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
  return {
    name: "chat",
    submitCommand: protocol.submit,
    connected: (connection) => protocol.connected(socketOf(connection)),
    disconnected: (connection) => protocol.disconnected(socketOf(connection)),
    receive(connection, text) {
      const command = parseChatFrame(text);
      if (!command) return false;
      return whenDone(protocol.receive(socketOf(connection), command), () => true);
    }
  };
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
