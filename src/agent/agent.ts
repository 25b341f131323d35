// The class that users extend for an agent without a conversation, and what `Think` stands on.
import { AgentToolsAgent } from "../features/agent-tools/agent-tools-agent.ts";
import { openChildRuns } from "../features/agent-tools/open-child-runs.ts";
import { openMcp } from "../features/mcp/open-mcp.ts";

/**
 * A durable object with a name, state that clients follow, callable methods, schedules, fibers, sub-agents and MCP servers.
 *
 * @example
 * export class Counter extends Agent<Env, { count: number }> {
 *   static callables = ["increment"];
 *   initialState = { count: 0 };
 *   increment() { this.setState({ count: this.state.count + 1 }); }
 * }
 */
export abstract class Agent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends AgentToolsAgent<Env, State, Props> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    openMcp(this);
    openChildRuns(this);
  }
}
