// The class that users extend for an agent without a conversation.
import { install } from "../feature/members.ts";
import { AgentBase } from "../agent/agent-base.ts";
import { AGENT_CAPABILITIES } from "./capabilities.ts";
import type { BASE } from "../util/base-type.ts";
import type { AgentMembers } from "./members.ts";

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
> extends AgentBase<Env, State, Props> {
  /** For the compiler only: the names that are not of a user's class. */
  declare readonly [BASE]?: Agent;

  static {
    install(this, AGENT_CAPABILITIES);
  }

  /** A class with further or fewer capabilities, such as `Think`, has agents as instances, too. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return this === Agent ? value instanceof AgentBase : Function.prototype[Symbol.hasInstance].call(this, value);
  }
}

export interface Agent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends AgentMembers {}
