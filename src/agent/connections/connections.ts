// The clients of one agent: the connect sequence, who is connected, and sending to them. Whether the sockets are the
// object's own or its root's makes no difference here.
import { kebabCase } from "../../util/kebab.ts";
import type { AgentBase } from "../agent-base.ts";
import { pathBelowAgent } from "../own-path.ts";
import {
  Connection,
  socketOf,
  type ConnectionAttachment,
  type ConnectionContext,
  type ConnectionSocket
} from "../../host/connection.ts";
import { agentErrors } from "../errors.ts";
import { frames } from "./frames.ts";
import type { AgentRuntime } from "../runtime.ts";

/** The id counts as one of them. */
const TAG_LIMIT = 10;
const TAG_LENGTH_LIMIT = 256;
/** Clients expect the frame from every agent. */
const NO_MCP_SERVERS = { servers: {}, tools: [], prompts: [], resources: [] };

/** What a connection knows before anything was decided about it. */
export const NEW_ATTACHMENT: Pick<ConnectionAttachment, "path" | "state" | "readonly" | "protocol"> = {
  path: [],
  state: null,
  readonly: false,
  protocol: false
};

const warnedClasses = new Set<string>();

export class Connections {
  readonly #runtime: AgentRuntime;
  readonly #agent: AgentBase;
  readonly #sockets: () => ConnectionSocket[];
  readonly #connections = new WeakMap<ConnectionSocket, Connection>();
  /** What a new client is sent about MCP servers. */
  mcpServers: () => object | undefined = () => undefined;

  constructor(runtime: AgentRuntime, agent: AgentBase, sockets: () => ConnectionSocket[]) {
    this.#runtime = runtime;
    this.#agent = agent;
    this.#sockets = sockets;
  }

  /** The same connection object for the same socket within one activation. */
  of(socket: ConnectionSocket): Connection {
    let connection = this.#connections.get(socket);
    if (!connection) {
      connection = new Connection(socket, this.#runtime.identity.name, () => this.#runtime.state.flush());
      this.#connections.set(socket, connection);
    }
    return connection;
  }

  list(tag?: string): Connection[] {
    const all = this.#sockets().map((socket) => this.of(socket));
    return tag === undefined ? all : all.filter((connection) => connection.tags.includes(tag));
  }

  /** The newest one when a reconnecting client still has its old socket open. */
  get(id: string): Connection | undefined {
    return this.list().findLast((connection) => connection.id === id);
  }

  broadcast(data: string | ArrayBuffer | ArrayBufferView, without: readonly string[] = []): void {
    for (const connection of this.list()) if (!without.includes(connection.id)) connection.send(data);
  }

  /** Identity, state and MCP frames go only to connections that want them. */
  broadcastProtocol(frame: string, except?: Connection): void {
    for (const connection of this.list()) {
      if (connection !== except && socketOf(connection).attachment.protocol) socketOf(connection).send(frame);
    }
  }

  /** The tags of a connection that is about to be accepted. */
  async tagsFor(attachment: ConnectionAttachment, context: ConnectionContext): Promise<string[]> {
    const connection = this.of(detachedSocket(attachment));
    const given = await this.#runtime.runAs({ connection, request: context.request }, () =>
      this.#agent.getConnectionTags(connection, context)
    );
    const tags = [...new Set([attachment.id, ...given])];
    if (tags.length > TAG_LIMIT) throw agentErrors.ConnectionTagError(`${tags.length} tags`);
    for (const tag of tags) {
      if (typeof tag !== "string" || tag === "") throw agentErrors.ConnectionTagError("an empty tag");
      if (tag.length > TAG_LENGTH_LIMIT) throw agentErrors.ConnectionTagError(`a tag of ${tag.length} characters`);
    }
    return tags;
  }

  /** Everything a new client is sent, then the user's `onConnect`. Throws what `onError` did not handle. */
  async open(socket: ConnectionSocket, request: Request): Promise<void> {
    const connection = this.of(socket);
    await this.#runtime.runAs({ connection, request }, async () => {
      try {
        await this.#greetAndConnect(socket, connection, { request });
      } catch (error) {
        await this.#agent.onError(connection, error);
      }
    });
  }

  async #greetAndConnect(socket: ConnectionSocket, connection: Connection, context: ConnectionContext): Promise<void> {
    const dedicated = this.#isDedicated(context.request);
    if (dedicated) socket.setAttachment({ ...socket.attachment, dedicated });
    const readonly = await this.#agent.shouldConnectionBeReadonly(connection, context);
    const protocol = !dedicated && (await this.#agent.shouldSendProtocolMessages(connection, context));
    // Until here the socket counts as not following the protocol, so no broadcast can overtake its identity frame.
    this.#runtime.state.flush();
    socket.setAttachment({ ...socket.attachment, readonly, protocol });
    if (protocol) {
      this.#runtime.life.connected(connection);
      this.#greet(connection, context.request);
    }
    this.#runtime.emit("connect", { connectionId: connection.id });
    await this.#agent.onConnect(connection, context);
  }

  #isDedicated(request: Request): boolean {
    const path = pathBelowAgent(request.url, this.#runtime);
    return path !== undefined && this.#runtime.features.role("dedicates")?.(path, request) === true;
  }

  /** What the class decides about the sender of a request that opens no socket. */
  async isReadonlyRequest(request: Request): Promise<boolean> {
    const id = this.#runtime.ids.next();
    const attachment = { ...NEW_ATTACHMENT, socketId: id, id, uri: request.url, tags: [id] };
    const tags = await this.tagsFor(attachment, { request });
    const connection = this.of(detachedSocket({ ...attachment, tags }));
    return this.#runtime.runAs({ connection, request }, () =>
      this.#agent.shouldConnectionBeReadonly(connection, { request })
    );
  }

  #greet(connection: Connection, request: Request): void {
    const { state, identity, options } = this.#runtime;
    // Read first: a state that cannot be read must not strand a client that was promised one.
    const stored = state.read(connection);
    if (options.sendIdentityOnConnect) {
      this.#warnAboutHiddenName(request);
      connection.send(frames.identity(identity.name, kebabCase(identity.className), stored !== null));
    }
    if (stored !== null) connection.send(frames.state(stored.json));
    connection.send(frames.mcpServers(this.mcpServers() ?? NO_MCP_SERVERS));
  }

  #warnAboutHiddenName(request: Request): void {
    const { identity, options } = this.#runtime;
    if (!options.identityIsDefault || identity.parentPath.length > 0 || warnedClasses.has(identity.className)) return;
    const path = new URL(request.url).pathname;
    if (path.includes(identity.name) || path.includes(encodeURIComponent(identity.name))) return;
    warnedClasses.add(identity.className);
    console.warn(
      `${identity.className} sends its instance name to clients, although their URL does not contain it. ` +
        `Set static options = { sendIdentityOnConnect: false } to keep it private, or true to silence this.`
    );
  }
}

/** Stands in for a socket that is not accepted yet. */
function detachedSocket(attachment: ConnectionAttachment): ConnectionSocket {
  let current = attachment;
  return {
    get attachment() {
      return current;
    },
    setAttachment(next) {
      current = next;
    },
    send: () => false,
    close: () => undefined,
    isOpen: false
  };
}
