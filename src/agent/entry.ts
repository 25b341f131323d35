// What happens at each platform entry, after the object has been started: requests, socket events, and calls from
// other agents of the tree. No stack and no internal name leaves through here.
import { isPlatformTransient, isRetryable } from "../host/platform-errors.ts";
import type { AgentBase } from "./agent-base.ts";
import { passOn } from "./tree/agent-call.ts";
import { socketOf, type Connection, type ConnectionAttachment, type ConnectionSocket } from "../host/connection.ts";
import { NEW_ATTACHMENT } from "./connections/connections.ts";
import { refuseCrossSite } from "./cross-site.ts";
import { AgentDestroyedError, agentErrors } from "./errors.ts";
import { frames, parseClientFrame } from "./connections/frames.ts";
import { COLD, isUnknownChild, type InternalCall, type InternalEnvelope, type Invoked } from "./tree/internal.ts";
import type { AgentRuntime } from "./runtime.ts";
import { SubAgentGateway } from "./tree/sub-agent-gateway.ts";
import { subAgentErrors } from "./tree/sub-agent-errors.ts";
import { DELETED_CLOSE_CODE } from "./tree/tree.ts";
import { isUpgrade } from "./connections/upgrade.ts";

/** The client closed without a code; it is answered in kind. */
const NO_CLOSE_CODE = 1005;
/** Close codes that only report that a connection is gone; there is nothing to answer. */
const GONE_CLOSE_CODES = new Set([1006, 1015]);
const SETUP_FAILED = { code: 1011, reason: "Uncaught exception during session setup" };
const DESTROYED = { code: 1008, reason: "Agent destroyed" };

export class AgentEntry {
  readonly #runtime: AgentRuntime;
  readonly #agent: AgentBase;
  readonly #gateway: SubAgentGateway;
  /** Events of a socket wait for its connect sequence, and forwarded ones for each other. In memory: a crash closes the socket. */
  readonly #settled = new WeakMap<ConnectionSocket, Promise<void>>();

  constructor(runtime: AgentRuntime) {
    this.#runtime = runtime;
    this.#agent = runtime.agent;
    this.#gateway = new SubAgentGateway(runtime);
  }

  async fetch(request: Request): Promise<Response> {
    // A sub-agent is reached through its root, which has asked already.
    const { identity, options } = this.#runtime;
    const refusal = identity.isFacet ? undefined : refuseCrossSite(request, options.allowedOrigins);
    return refusal ?? this.#answer(request);
  }

  async #answer(request: Request): Promise<Response> {
    try {
      await this.#runtime.tree.restoreConnections();
      return await this.#runtime.activation.enter(() => this.#respond(request));
    } catch (error) {
      if (error instanceof AgentDestroyedError) return this.#refuseDestroyed(request);
      console.error(`${this.#runtime.labelFor(error)}: a request failed:`, error);
      return isUpgrade(request) ? this.#refuseUpgrade() : new Response("Internal Server Error", { status: 500 });
    }
  }

  async #respond(request: Request): Promise<Response> {
    const forwarded = await this.#gateway.route(request);
    if (forwarded.kind === "response") return forwarded.response;
    if (forwarded.kind === "upgrade") return this.#accept(this.#newAttachment(request), forwarded.connect);
    const admitted = await this.#runtime.runAs({ request }, () => this.#runtime.tree.access.admitHere(request));
    if (admitted instanceof Response) return admitted;
    if (isUpgrade(request)) return this.#upgrade(request);
    return this.#runtime.runAs({ request }, async () => {
      try {
        const response = await this.#runtime.life.respond(request, admitted === "class");
        return response ?? (await this.#agent.onRequest(request));
      } catch (error) {
        // Returning normally means handled; what onError throws is logged above.
        await this.#agent.onError(error);
        return new Response("Internal Server Error", { status: 500 });
      }
    });
  }

  async #upgrade(request: Request): Promise<Response> {
    if (new URL(request.url).searchParams.get("__agents_transport") === "capnweb") {
      return new Response("This transport is not supported", { status: 400 });
    }
    if (this.#runtime.identity.isFacet) return new Response("Connect through the root agent", { status: 400 });
    const attachment = this.#newAttachment(request);
    const tags = await this.#runtime.connections.tagsFor(attachment, { request });
    return this.#accept({ ...attachment, tags }, (socket) => this.#runtime.connections.open(socket, request));
  }

  /** Answers 101 at once; the connect sequence follows, and no frame of the client is handled before it is done. */
  #accept(attachment: ConnectionAttachment, connect: (socket: ConnectionSocket) => Promise<void>): Response {
    const { socket, response } = this.#runtime.sockets.accept(attachment);
    const connected = connect(socket).catch((error: unknown) => {
      console.error(`${this.#runtime.labelFor(error)}: a connection could not be set up:`, error);
      refuse(socket, SETUP_FAILED);
    });
    this.#settled.set(socket, connected);
    this.#runtime.background(connected);
    return response;
  }

  #newAttachment(request: Request): ConnectionAttachment {
    const id = new URL(request.url).searchParams.get("_pk") || this.#runtime.ids.next();
    return { ...NEW_ATTACHMENT, socketId: this.#runtime.ids.next(), id, uri: request.url, tags: [id] };
  }

  #refuseUpgrade(): Response {
    return this.#runtime.sockets.refuse({ ...SETUP_FAILED, frame: frames.failure("Internal Server Error") });
  }

  #refuseDestroyed(request: Request): Response {
    return isUpgrade(request) ? this.#runtime.sockets.refuse(DESTROYED) : new Response("Gone", { status: 410 });
  }

  /** A frame on one of our sockets: for this agent, or for the sub-agent it is addressed to. */
  async socketMessage(platformSocket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    await this.#socketEvent(platformSocket, {
      own: (socket) => this.#message(socket, data),
      forward: (attachment) => ({ op: "message", attachment, data })
    });
  }

  async socketClose(
    platformSocket: WebSocket,
    end: { code: number; reason: string; wasClean: boolean }
  ): Promise<void> {
    await this.#socketEvent(platformSocket, {
      own: (socket) => this.#closed(socket, end),
      forward: (attachment) => ({ op: "close", attachment, ...end })
    });
    if (GONE_CLOSE_CODES.has(end.code)) return;
    const socket = this.#runtime.sockets.adopt(platformSocket);
    // Without an answer the client waits for its own time limit: 10 s in Node.
    if (end.code === NO_CLOSE_CODE) socket?.close();
    else socket?.close(end.code, end.reason);
  }

  async socketError(platformSocket: WebSocket, error: unknown): Promise<void> {
    // A socket that is going away reports its own end; there is nothing to do about it.
    if (platformSocket.readyState !== WebSocket.OPEN && (isRetryable(error) || isPlatformTransient(error))) return;
    await this.#socketEvent(platformSocket, {
      own: (socket) => this.#failed(socket, error),
      forward: (attachment) => ({
        op: "fail",
        attachment,
        error: error instanceof Error ? error.message : String(error)
      })
    });
  }

  async #socketEvent(
    platformSocket: WebSocket,
    event: {
      own: (socket: ConnectionSocket) => Promise<void>;
      forward: (attachment: ConnectionAttachment) => InternalCall;
    }
  ): Promise<void> {
    const socket = this.#runtime.sockets.adopt(platformSocket);
    if (!socket) return;
    try {
      await this.#runtime.activation.enter(() => this.#settled.get(socket));
      if (socket.attachment.path.length === 0) await event.own(socket);
      else await this.#forward(socket, event.forward);
    } catch (error) {
      if (error instanceof AgentDestroyedError) socket.close(DESTROYED.code, DESTROYED.reason);
      else console.error(`${this.#runtime.labelFor(error)}: a socket event failed:`, error);
    }
  }

  /** One after the other per socket, so that a child sees frames in the order they came. */
  #forward(socket: ConnectionSocket, call: (attachment: ConnectionAttachment) => InternalCall): Promise<void> {
    const before = this.#settled.get(socket) ?? Promise.resolve();
    const forwarded = before.then(async () => {
      const answer = await this.#runtime.tree.pass(socket.attachment.path, call(socket.attachment));
      if (isUnknownChild(answer)) socket.close(DELETED_CLOSE_CODE, "Sub-agent deleted");
    });
    // A failed frame must not keep the next one from its turn.
    this.#settled.set(
      socket,
      forwarded.catch(() => undefined)
    );
    return forwarded;
  }

  async #message(socket: ConnectionSocket, data: string | ArrayBuffer): Promise<void> {
    const connection = this.#runtime.connections.of(socket);
    await this.#guarded(connection, async () => {
      if (typeof data === "string" && (await this.#runtime.life.receive(connection, data))) return;
      const frame = typeof data === "string" ? parseClientFrame(data) : undefined;
      if (frame?.type === "state") this.#stateFrame(connection, frame.state);
      else if (frame?.type === "rpc") await this.#runtime.calls.answer(connection, frame);
      else await this.#agent.onMessage(connection, data);
    });
  }

  #stateFrame(connection: Connection, next: unknown): void {
    const refuse = (reason: string) => {
      connection.send(frames.stateError(reason));
      // The client showed its own value already; this puts it right.
      const stored = this.#runtime.state.read();
      if (stored && socketOf(connection).attachment.protocol) connection.send(frames.state(stored.json));
    };
    if (socketOf(connection).attachment.readonly) return refuse(agentErrors.ReadonlyConnectionError().message);
    try {
      this.#runtime.state.set(next, connection);
    } catch (error) {
      console.error(`${this.#runtime.labelFor(error)}: a client's state update was rejected:`, error);
      refuse("State update rejected");
    }
  }

  async #closed(socket: ConnectionSocket, end: { code: number; reason: string; wasClean: boolean }): Promise<void> {
    const connection = this.#runtime.connections.of(socket);
    this.#runtime.calls.disconnected(connection);
    this.#runtime.life.disconnected(connection);
    this.#runtime.emit("disconnect", { connectionId: connection.id, code: end.code, reason: end.reason });
    await this.#guarded(connection, () => this.#agent.onClose(connection, end.code, end.reason, end.wasClean));
  }

  async #failed(socket: ConnectionSocket, error: unknown): Promise<void> {
    const connection = this.#runtime.connections.of(socket);
    await this.#runtime.runAs({ connection }, () => this.#agent.onError(connection, error));
  }

  /** The user's code in its connection's context; what it throws goes to `onError` and never closes the socket. */
  async #guarded(connection: Connection, work: () => unknown): Promise<void> {
    await this.#runtime.runAs({ connection }, async () => {
      try {
        await work();
      } catch (error) {
        await this.#agent.onError(connection, error);
      }
    });
  }

  /** A call from another agent of the tree, or from the routing helpers. */
  async internalCall({ to, call, connections }: InternalEnvelope): Promise<unknown> {
    const { remote } = this.#runtime.tree;
    if (remote && !remote.isRestored) {
      // Nothing runs before the facet knows its clients, and a start may not ask for them.
      if (!connections) return COLD;
      remote.restore(connections);
    }
    if (to.length > 0) {
      this.#runtime.tree.observe(call);
      return this.#runtime.tree.pass(to, call);
    }
    switch (call.op) {
      case "arm":
      case "act":
      case "forget":
      case "connections":
        return this.#runtime.tree.answerAsRoot(call);
      case "survey":
        return this.#runtime.tree.survey();
      case "adopt":
        return this.#runtime.activation.enter(() => this.#runtime.features.role("carriedSchedules")?.(call.schedules));
      case "note":
        return this.#runtime.tree.observe(call);
      case "spawn-child":
        // The stub itself cannot leave this object.
        return this.#runtime.activation.enter(async () => void (await this.#runtime.tree.spawn(call.child)));
      case "remove-child":
        return this.#runtime.tree.remove(call.child);
      case "wake":
        return this.#runtime.wake();
      case "start":
        return this.#runtime.activation.enter(() => undefined, call.props);
      default:
        return this.#runtime.activation.enter(() => this.#deliver(call));
    }
  }

  /** Calls that reach the user's code. */
  async #deliver(
    call: Extract<InternalCall, { op: "invoke" | "report" | "fetch" | "connect" | "message" | "close" | "fail" }>
  ): Promise<unknown> {
    const { remote } = this.#runtime.tree;
    switch (call.op) {
      case "invoke":
        return this.#invoke(call.method, call.args);
      case "report":
        return this.#runtime.runAs({}, () => this.#runtime.features.role("workflowReport")?.(call.report));
      case "fetch":
        return this.#answer(call.request);
      case "connect":
        return this.#gateway.connectHere(call);
      case "message":
        // The parent waits only until the frame is received: a slow handler must not hold back the next one.
        if (remote) this.#runtime.background(this.#message(remote.adopt(call.attachment), call.data));
        return;
      case "close": {
        const socket = remote?.adopt(call.attachment);
        remote?.drop(call.attachment.socketId);
        return socket && this.#closed(socket, call);
      }
      case "fail":
        return remote && this.#failed(remote.adopt(call.attachment), new Error(call.error));
    }
  }

  async #invoke(method: string, args: unknown[]): Promise<Invoked> {
    if (!this.#runtime.hasMethod(method) || method in Object.prototype) {
      throw subAgentErrors.UnknownMethodError(method, this.#runtime.identity.className);
    }
    return { result: passOn(await this.#runtime.invoke(method, ...args)) };
  }
}

function refuse(socket: ConnectionSocket, end: { code: number; reason: string }): void {
  socket.send(frames.failure("Internal Server Error"));
  socket.close(end.code, end.reason);
}
