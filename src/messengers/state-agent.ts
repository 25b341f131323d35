// The class that Workers export for the state of messengers. This package keeps that state in the agent's own database,
// beside the events it belongs to, so that both change in one transaction; an exported class is never started.
import { Agent } from "../agent/agent.ts";

/** Not needed by this package: Workers that export it, as documented for the original, build unchanged. */
export class ThinkMessengerStateAgent extends Agent {}
