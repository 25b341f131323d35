// The part of `ctx` that deals with hibernating WebSockets.
import type { ObjectActivation } from "./activation.ts";
import type { SocketConnection } from "./connection.ts";
import { ServerSocket } from "./server-socket.ts";

const TAG_LIMIT = 10;
const TAG_LENGTH_LIMIT = 256;

export class Hibernation {
  readonly #activation: ObjectActivation;
  #eventTimeoutMs: number | null = null;

  constructor(activation: ObjectActivation) {
    this.#activation = activation;
  }

  accept(socket: unknown, tags: string[] = []): void {
    this.#activation.assertLive();
    const server = serverSocket(socket, "acceptWebSocket");
    const unique = [...new Set(tags.map(String))];
    if (unique.length > TAG_LIMIT) throw new Error(`a Hibernatable WebSocket cannot have more than ${TAG_LIMIT} tags`);
    const long = unique.find((tag) => tag.length > TAG_LENGTH_LIMIT);
    if (long !== undefined) {
      throw new Error(`"${long}" is longer than the max tag length (${TAG_LENGTH_LIMIT} characters).`);
    }
    if (server.isAccepted || server.connection.isHibernatable) {
      throw new Error("Cannot call `acceptWebSocket()` if the WebSocket was already accepted via `accept()`");
    }
    server.connection.hibernateIn(this.#activation, server, unique);
  }

  list(tag?: string): ServerSocket[] {
    this.#activation.assertLive();
    const found: ServerSocket[] = [];
    for (const connection of this.#activation.record.connections) {
      if (tag === undefined || connection.tags.includes(tag)) found.push(connection.socketIn(this.#activation));
    }
    return found;
  }

  tags(socket: unknown): string[] {
    const { connection } = serverSocket(socket, "getTags");
    if (!connection.isHibernatable) {
      throw new Error("you must call 'acceptWebSocket()' before attempting to access the tags of a WebSocket.");
    }
    return [...connection.tags];
  }

  setAutoResponse(pair?: { request: string; response: string }): void {
    this.#activation.assertLive();
    this.#activation.record.autoResponse =
      pair === undefined ? undefined : { request: pair.request, response: pair.response };
  }

  autoResponse(): { request: string; response: string } | null {
    this.#activation.assertLive();
    return this.#activation.record.autoResponse ?? null;
  }

  autoResponseAt(socket: unknown): Date | null {
    const connection: SocketConnection = serverSocket(socket, "getWebSocketAutoResponseTimestamp").connection;
    return connection.autoResponseAt === undefined ? null : new Date(connection.autoResponseAt);
  }

  setEventTimeout(timeoutMs?: number): void {
    this.#eventTimeoutMs = timeoutMs ?? null;
  }

  eventTimeout(): number | null {
    return this.#eventTimeoutMs;
  }
}

function serverSocket(value: unknown, method: string): ServerSocket {
  if (value instanceof ServerSocket) return value;
  throw new TypeError(`Failed to execute '${method}' on 'DurableObjectState': parameter 1 is not of type 'WebSocket'.`);
}
