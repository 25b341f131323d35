// Where a larger class (Think) joins the life of its agent. The agent calls; an extension never reaches into its modules.
import type { Connection } from "./connections/connection.ts";

export interface AgentExtension {
  /** Part of the start, before the user's `onStart`; may run user code. A throw fails the start. */
  start?(): void | Promise<void>;
  /** The agent is up. */
  ready?(): void;
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
  /** A request, before the user's `onRequest`; undefined leaves it to the others. */
  respond?(request: Request): Response | undefined | Promise<Response | undefined>;
  /** The wake came: do what is due. Sources of wakes are registered with `core.wakes`. */
  runDue?(): Promise<void>;
  /** The agent is being destroyed: nothing may be started or written any more. */
  stop?(): void;
}
