// For entries of Workers that export it: nothing of an extension passes through it any more, since what an extension may
// use is given to it with each call.

/** What the class was constructed with. */
export interface HostBridgeLoopbackProps {
  readonly agentClassName: string;
  readonly agentId: string;
  readonly permissions: object;
  readonly ownContextLabels: readonly string[];
}

/**
 * Not needed: an export of this name can be deleted.
 *
 * @example
 * export { HostBridgeLoopback } from "everthink/extensions";
 */
export class HostBridgeLoopback {}
