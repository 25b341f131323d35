// Calls of a client to the agent's callable methods. Calls of one socket run concurrently and are answered by id; an
// answer to a client that has gone is dropped.
import { byteLength } from "../../util/bytes.ts";
import { errorMessage } from "../../util/errors.ts";
import { callableMetadata } from "../../feature/callable.ts";
import type { Connection } from "../../host/connection.ts";
import type { AgentCore } from "../core.ts";
import { frames, type ClientFrame } from "./frames.ts";
import { StreamingResponse } from "./streaming-response.ts";

/** The platform refuses larger WebSocket messages. */
export const FRAME_LIMIT_BYTES = 32 * 1024 * 1024;

type Call = Extract<ClientFrame, { type: "rpc" }>;

export class ClientCalls {
  readonly #core: AgentCore;
  readonly #agent: object;
  /** Streams being served, to tell them when their client leaves. In memory only: a restart closes the sockets. */
  readonly #streams = new Map<Connection, Set<AbortController>>();

  constructor(core: AgentCore, agent: object) {
    this.#core = core;
    this.#agent = agent;
  }

  async answer(connection: Connection, call: Call): Promise<void> {
    const method: unknown = Reflect.get(this.#agent, call.method);
    const metadata = callableMetadata(method);
    try {
      if (typeof method !== "function") throw new Error(`Method ${call.method} does not exist`);
      if (!metadata) throw new Error(`Method ${call.method} is not callable`);
      if (metadata.streaming) return await this.#stream(connection, call, method);
      const result: unknown = await method.apply(this.#agent, call.args);
      send(connection, frames.rpcResult(call.id, result, true));
      this.#core.emit("rpc", { method: call.method });
    } catch (error) {
      this.#core.emit("rpc:error", { method: call.method, error: errorMessage(error) });
      connection.send(frames.rpcError(call.id, error instanceof Error ? error.message : "Unknown error occurred"));
    }
  }

  /** The client has gone: its streams are no longer read. */
  disconnected(connection: Connection): void {
    for (const controller of this.#streams.get(connection) ?? []) controller.abort(new Error("Connection closed"));
    this.#streams.delete(connection);
  }

  async #stream(connection: Connection, call: Call, method: Function): Promise<void> {
    this.#core.emit("rpc", { method: call.method, streaming: true });
    const controller = new AbortController();
    const open = this.#streams.get(connection) ?? new Set();
    this.#streams.set(connection, open.add(controller));
    const stream = new StreamingResponse(call.id, (frame) => send(connection, frame), controller.signal);
    try {
      await method.apply(this.#agent, [stream, ...call.args]);
      // A method that returns without closing has nothing more to say: the client must not wait for ever.
      if (!stream.isClosed) stream.end();
    } catch (error) {
      this.#core.emit("rpc:error", { method: call.method, error: errorMessage(error) });
      stream.error(errorMessage(error));
    } finally {
      open.delete(controller);
    }
  }
}

function send(connection: Connection, frame: string): boolean {
  if (frame.length > FRAME_LIMIT_BYTES / 4 && byteLength(frame) > FRAME_LIMIT_BYTES) {
    throw new Error(`The result is too large to send: at most ${FRAME_LIMIT_BYTES} bytes.`);
  }
  return connection.send(frame);
}
