// Where a larger class (Think) joins the life of its agent. The agent calls; an extension never reaches into its modules.
import type { MaybePromise } from "../util/maybe-promise.ts";
import type { Connection } from "../agent/connections/connection.ts";
import type { AgentPathStep } from "../agent/tree/path.ts";

/** The sub-agent that a client's URL names. */
export interface AddressedChild extends AgentPathStep {
  /** What follows the last sub-agent of the URL, starting with "/": for this one, or for one further below. */
  readonly innermostPath: string;
}

export interface AgentExtension {
  /** Part of the start, before the user's `onStart`; may run user code. A throw fails the start. */
  start?(): void | Promise<void>;
  /** The agent is up. */
  ready?(): void;
  /** An event of any kind has reached the agent, which is up. Must be cheap, and must not throw. */
  entered?(): void;
  /**
   * Whether a socket that connects at this path below the agent's address carries a protocol of the extension's own: then
   * it is sent nothing else, and every frame of it goes to `receive`.
   */
  dedicates?(path: string, request: Request): boolean;
  /** A client that follows the protocol has connected; its first frames are this one's. */
  connected?(connection: Connection): void;
  disconnected?(connection: Connection): void;
  /** A text frame, before the base class looks at it; true when it was taken. */
  receive?(connection: Connection, text: string): boolean | Promise<boolean>;
  /**
   * A client's request or socket for a sub-agent, before that is woken, and again when it is awake. A Response refuses it.
   */
  admitChild?(request: Request, child: AddressedChild): MaybePromise<Response | undefined>;
  /**
   * A client's request or socket for this agent. A Response refuses it; with "class" only extensions that check their
   * callers are asked, then the user's `onRequest`.
   */
  admitHere?(request: Request): MaybePromise<Response | "class" | undefined>;
  /** `respond` answers only requests that carry a credential of its own making. */
  readonly checksCallers?: boolean;
  /** A request, before the user's `onRequest`; undefined leaves it to the others. */
  respond?(request: Request): Response | undefined | Promise<Response | undefined>;
  /** The wake came: do what is due. Sources of wakes are registered with `core.wakes`. */
  runDue?(): Promise<void>;
  /** A sub-agent was deleted. */
  removed?(child: AgentPathStep): void;
  /** The agent is being destroyed: nothing may be started or written any more. */
  stop?(): void;
}
