// An agent's place among its parent and children. Calls go down step by step through each parent; what only the root
// can do (alarm, sockets) is asked of the root directly.
import type { Facets, FacetStub } from "../../host/ports.ts";
import { Children, type SubAgentInfo } from "./children.ts";
import { ClosedConversations } from "./closed-conversations.ts";
import type { ConnectionAttachment, ConnectionSocket } from "../../host/connection.ts";
import { outsideAgents } from "../context.ts";
import type { AccessRole } from "../../feature/feature.ts";
import { callAgent, isNamespace, type AgentNamespace, type AgentStub } from "./agent-call.ts";
import { isUnknownChild, type InternalCall } from "./internal.ts";
import type { AgentPath, AgentPathStep } from "../../host/path.ts";
import { attachmentsBelow, performSocketActions, RemoteSockets } from "./remote-sockets.ts";
import type { AgentRuntime } from "../runtime.ts";
import { subAgentErrors } from "./sub-agent-errors.ts";

export const DELETED_CLOSE_CODE = 1008;

interface SocketEnd {
  readonly code: number;
  readonly reason: string;
}

export class Tree {
  readonly children: Children;
  /** A facet's sockets live at the root; a root has its own. */
  readonly remote: RemoteSockets | undefined;
  readonly #runtime: AgentRuntime;
  readonly #closed: ClosedConversations;

  constructor(runtime: AgentRuntime, facets: Facets) {
    this.#runtime = runtime;
    this.#closed = new ClosedConversations(runtime);
    const { identity } = runtime;
    if (identity.isFacet) {
      this.remote = new RemoteSockets(identity.pathBelowRoot, async (actions) => {
        const gone = await this.askRoot({ op: "act", actions });
        return gone as string[];
      });
    }
    this.children = new Children({
      sql: runtime.sql,
      facets,
      now: () => runtime.clock.now(),
      selfPath: () => identity.selfPath,
      connectionsBelow: (child) => this.#connectionsBelow(child)
    });
  }

  /** Decides who may reach the agent and its children. A class that can open conversations of messengers brings its own. */
  get access(): AccessRole {
    return this.#runtime.features.role("access") ?? this.#closed;
  }

  ownSockets(): ConnectionSocket[] {
    return this.remote?.list() ?? this.#runtime.sockets.list().filter((socket) => socket.attachment.path.length === 0);
  }

  /** Gets or creates a child. The caller's connection and request stay here: they are this object's. */
  async spawn(child: AgentPathStep): Promise<FacetStub> {
    this.#assertRootReachable();
    return outsideAgents(() => this.children.spawn(child));
  }

  list(className?: string): SubAgentInfo[] {
    return this.children.list(className);
  }

  /**
   * A facet called directly on a stub, without its parent's message, after it was evicted: asks the root for its
   * clients. Not part of the start, which must not wait for another object.
   */
  async restoreConnections(): Promise<void> {
    if (!this.remote || this.remote.isRestored) return;
    const path = this.#runtime.identity.pathBelowRoot;
    // The root answers "connections" with a list.
    this.remote.restore((await this.askRoot({ op: "connections", path })) as ConnectionAttachment[]);
  }

  /** Carries a call to a descendant; see `isUnknownChild` for the answer when there is none. */
  pass(to: AgentPath, call: InternalCall): Promise<unknown> {
    return outsideAgents(() => this.children.pass(to, call));
  }

  /** Runs a descendant's due work; false when its parent does not know it. */
  async wake(pathBelowRoot: AgentPath): Promise<boolean> {
    return !isUnknownChild(await this.pass(pathBelowRoot, { op: "wake" }));
  }

  async armAtRoot(at: number | null): Promise<void> {
    await this.askRoot({ op: "arm", path: this.#runtime.identity.pathBelowRoot, at });
  }

  /** Deletes a child with everything below it: wakes, sockets, storage, registry. */
  async remove(child: AgentPathStep): Promise<void> {
    const path = [...this.#runtime.identity.pathBelowRoot, child];
    await this.askRoot({ op: "forget", path });
    this.children.remove(child);
    this.access.removed(child);
  }

  /** Closes, in a root, the sockets of clients of a child and of everything below it; without a child those of this agent. */
  closeSockets(child: AgentPathStep | undefined, end: SocketEnd): void {
    if (child) return this.#closeBelow([child], end);
    for (const socket of this.ownSockets()) socket.close(end.code, end.reason);
  }

  removeAll(): void {
    for (const child of this.children.list()) this.children.remove(child);
  }

  /** A facet's own end: its parent deletes it, and this call may never return. */
  async removeSelf(): Promise<void> {
    const path = this.#runtime.identity.pathBelowRoot;
    const child = path.at(-1);
    if (!child) return;
    await callAgent(this.#root(), { to: path.slice(0, -1), call: { op: "remove-child", child } });
  }

  askRoot(call: InternalCall): Promise<unknown> {
    if (!this.#runtime.identity.isFacet) return this.answerAsRoot(call);
    return outsideAgents(() => callAgent(this.#root(), { to: [], call }));
  }

  /** A call routed through the root to any agent of the tree. */
  askAt(pathBelowRoot: AgentPath, call: InternalCall): Promise<unknown> {
    return outsideAgents(() => callAgent(this.#root(), { to: pathBelowRoot, call }));
  }

  async answerAsRoot(call: InternalCall): Promise<unknown> {
    const { childWakes, sockets } = this.#runtime;
    switch (call.op) {
      case "arm":
        return childWakes.arm(call.path, call.at);
      case "act":
        return performSocketActions(sockets, call.actions, (attachment) => this.#noteBelow(attachment));
      case "forget":
        return this.#forget(call.path);
      case "connections":
        return attachmentsBelow(this.#attachments(), call.path);
      default:
        throw new TypeError(`Not a call for the root: ${call.op}`);
    }
  }

  /** The schedules of this agent and of everything below it. */
  async survey(): Promise<{ callback: string; id: string }[]> {
    const own = this.#runtime.features.role("schedules")?.() ?? [];
    const below = await Promise.all(this.children.list().map((child) => this.pass([child], { op: "survey" })));
    // Every agent answers "survey" with this method.
    return [own, ...below].flat() as { callback: string; id: string }[];
  }

  /** Keeps what an agent on the way must know about the connections below it. */
  observe(call: InternalCall): void {
    if (!this.remote) return;
    if (call.op === "message" || call.op === "note") this.remote.note(call.attachment);
    else if (call.op === "close") this.remote.drop(call.attachment.socketId);
  }

  async #forget(path: AgentPath): Promise<void> {
    for (const schedule of await this.#surveyBelow(path)) this.#runtime.emit("schedule:cancel", schedule);
    await this.#runtime.childWakes.forget(path);
    this.#closeBelow(path, { code: DELETED_CLOSE_CODE, reason: "Sub-agent deleted" });
  }

  #closeBelow(path: AgentPath, { code, reason }: SocketEnd): void {
    const { sockets } = this.#runtime;
    const below = sockets.list().filter((socket) => attachmentsBelow([socket.attachment], path).length > 0);
    for (const socket of below) socket.close(code, reason);
  }

  async #surveyBelow(path: AgentPath): Promise<{ callback: string; id: string }[]> {
    try {
      const found = await this.pass(path, { op: "survey" });
      return isUnknownChild(found) ? [] : (found as { callback: string; id: string }[]);
    } catch (error) {
      // A child too broken to be asked must still be deletable; only its cancel events are missing.
      console.error("The schedules of a deleted sub-agent could not be read:", error);
      return [];
    }
  }

  /** Agents between the root and the owner of a connection keep a copy for the owner's cold start. */
  #noteBelow(attachment: ConnectionAttachment): void {
    const between = attachment.path.slice(0, -1);
    if (between.length > 0) this.#runtime.background(this.pass(between, { op: "note", attachment }));
  }

  #connectionsBelow(child: AgentPathStep): ConnectionAttachment[] {
    const path = [...this.#runtime.identity.pathBelowRoot, child];
    if (this.remote) return this.remote.below(path);
    return attachmentsBelow(this.#attachments(), path);
  }

  #attachments(): ConnectionAttachment[] {
    return this.#runtime.sockets.list().map((socket) => socket.attachment);
  }

  #assertRootReachable(): void {
    this.namespaceOf(this.#runtime.identity.selfPath[0]?.className ?? "");
  }

  #root(): AgentStub {
    const root = this.#runtime.identity.selfPath[0];
    const namespace = this.namespaceOf(root?.className ?? "");
    // A facet inherits the root's platform id; every agent class has `internalCall`.
    return namespace.get(this.#runtime.ctx.id) as DurableObjectStub & AgentStub;
  }

  /** The namespace of a top-level class: a Worker export, or a binding of that name. */
  namespaceOf(className: string): AgentNamespace {
    const exports = this.#runtime.ctx.exports as Record<string, unknown> | undefined;
    const bindings = this.#runtime.env as Record<string, unknown>;
    for (const candidate of [exports?.[className], bindings[className]]) if (isNamespace(candidate)) return candidate;
    const names = Object.keys(bindings).filter((name) => isNamespace(bindings[name]));
    throw subAgentErrors.RootUnavailableError(className, names);
  }
}
