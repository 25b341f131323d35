// The way from a URL to a sub-agent: each parent on the path may refuse, the child sees only what is left of the path.
// Sockets stay with the root; a child gets them as plain data.
import {
  parseSubAgentPath,
  looksLikeSubAgentPath,
  SUB_PREFIX,
  type AgentPathStep,
  type SubAgentMatch
} from "../../host/path.ts";
import type { ConnectionSocket } from "../../host/connection.ts";
import { isUpgrade } from "../connections/upgrade.ts";
import type { InternalCall, UpgradeHead } from "./internal.ts";
import { pathBelowAgent } from "../own-path.ts";
import type { AgentRuntime } from "../runtime.ts";
import { ReservedClassNameError, SubAgentNameError } from "./sub-agent-errors.ts";
import { validateChild } from "./children.ts";

/** A child's address directly below its parent's. Elsewhere in a path the word is the user's. */
const CHILD_PATH = new RegExp(`^/${SUB_PREFIX}/[^/]+/[^/]+`);
const REJECTED = { code: 1008, reason: "Sub-agent connection rejected" };

export type Routed =
  /** The request is for this agent itself. */
  | { kind: "here" }
  | { kind: "response"; response: Response }
  | { kind: "upgrade"; request: Request; connect: (socket: ConnectionSocket) => Promise<void> };

type Connect = Extract<InternalCall, { op: "connect" }>;

export class SubAgentGateway {
  readonly #runtime: AgentRuntime;

  constructor(runtime: AgentRuntime) {
    this.#runtime = runtime;
  }

  async route(request: Request): Promise<Routed> {
    const match = this.#match(request.url);
    if (!match) {
      return this.#isLost(request) ? respond(404, "Not Found") : { kind: "here" };
    }
    const admitted = await this.#admit(request, match);
    if (admitted instanceof Response) return { kind: "response", response: admitted };
    const stub = await this.#spawn(match);
    if (stub instanceof Response) return { kind: "response", response: stub };
    const forwarded = new Request(childUrl(admitted.url, match), admitted);
    if (!isUpgrade(request)) {
      // Asked again here and below: what a client may reach may have changed while a hook or a start was waited for.
      const refusal = await this.#refusal(request, match);
      return { kind: "response", response: refusal ?? (await stub.fetch(forwarded)) };
    }
    const head: UpgradeHead = { url: forwarded.url, headers: [...forwarded.headers] };
    const connect = async (socket: ConnectionSocket) => {
      const { rejected } = await this.#passConnect(match, { op: "connect", attachment: socket.attachment, head });
      const isRefused = rejected || (await this.#refusal(request, match)) !== undefined;
      if (isRefused) socket.close(REJECTED.code, REJECTED.reason);
    };
    return { kind: "upgrade", request, connect };
  }

  /** Whether a request is for a child that cannot be. The parent's answer would be taken for the child's. */
  #isLost(request: Request): boolean {
    // A parent's socket would give the client another agent's frames: an address that looks like a child's is refused.
    if (isUpgrade(request)) return looksLikeSubAgentPath(request.url, this.#runtime.identity.name);
    const path = pathBelowAgent(request.url, this.#runtime) ?? new URL(request.url).pathname;
    return CHILD_PATH.test(path);
  }

  /** A connection handed down by the parent: for this agent, or for one further below. */
  async connectHere({ attachment, head }: Connect): Promise<{ rejected: boolean }> {
    const request = new Request(head.url, { headers: head.headers });
    const match = this.#match(head.url);
    if (match) {
      const admitted = await this.#admit(request, match);
      if (admitted instanceof Response || (await this.#spawn(match)) instanceof Response) return { rejected: true };
      const next: UpgradeHead = { url: childUrl(admitted.url, match), headers: [...admitted.headers] };
      return this.#passConnect(match, { op: "connect", attachment, head: next });
    }
    const { identity, connections, tree } = this.#runtime;
    if (looksLikeSubAgentPath(head.url, identity.name) || !tree.remote) return { rejected: true };
    const own = { ...attachment, path: identity.pathBelowRoot };
    const tags = await connections.tagsFor(own, { request });
    const socket = tree.remote.adopt({ ...own, tags });
    await connections.open(socket, request);
    // The root must know whose socket this is before it hands on the first frame.
    await tree.remote.sent();
    return { rejected: false };
  }

  async #passConnect(match: SubAgentMatch, call: Connect): Promise<{ rejected: boolean }> {
    // `connectHere` of the child answers. A child that was deleted meanwhile gives no answer.
    const answer = (await this.#runtime.tree.pass([step(match)], call)) as { rejected?: boolean };
    return { rejected: answer.rejected !== false };
  }

  #match(url: string): SubAgentMatch | undefined {
    const exports: Record<string, unknown> = { ...this.#runtime.ctx.exports };
    const knownClasses = Object.keys(exports).filter(
      (name) => name !== "default" && typeof exports[name] === "function"
    );
    return parseSubAgentPath(url, { knownClasses });
  }

  /** The parent's own say. A Request replaces the original, a Response ends it. */
  async #admit(request: Request, match: SubAgentMatch): Promise<Request | Response> {
    try {
      validateChild(step(match), this.#runtime.identity.selfPath);
    } catch (error) {
      const isBadName = error instanceof SubAgentNameError || error instanceof ReservedClassNameError;
      console.error("A sub-agent was addressed that cannot exist:", error);
      return isBadName ? new Response("Bad Request", { status: 400 }) : new Response("Not Found", { status: 404 });
    }
    return this.#runtime.runAs({ request }, async () => {
      const refusal = await this.#refusal(request, match);
      return refusal ?? (await this.#runtime.agent.onBeforeSubAgent(request, step(match))) ?? request;
    });
  }

  async #refusal(request: Request, match: SubAgentMatch): Promise<Response | undefined> {
    const child = { ...step(match), innermostPath: this.#innermostPath(match) };
    return this.#runtime.tree.access.admitChild(request, child);
  }

  /** Each sub-agent on the way looks for the next one in the same way. */
  #innermostPath({ remainingPath }: SubAgentMatch): string {
    const next = this.#match(remainingPath);
    return next ? this.#innermostPath(next) : remainingPath;
  }

  async #spawn(match: SubAgentMatch) {
    try {
      return await this.#runtime.tree.spawn(step(match));
    } catch (error) {
      console.error("A sub-agent could not be reached:", error);
      return new Response("Not Found", { status: 404 });
    }
  }
}

function step({ className, name }: SubAgentMatch): AgentPathStep {
  return { className, name };
}

function respond(status: number, body: string): Routed {
  return { kind: "response", response: new Response(body, { status }) };
}

function childUrl(url: string, match: SubAgentMatch): string {
  const target = new URL(url);
  target.pathname = match.remainingPath;
  return target.href;
}
