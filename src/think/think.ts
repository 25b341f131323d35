// The class users extend: a conversation with every capability of the package.
import { AGENT_CAPABILITIES } from "../agent-class/capabilities.ts";
import type { AgentMembers } from "../agent-class/members.ts";
import { install } from "../feature/members.ts";
import type { BASE } from "../util/base-type.ts";
import { THINK_CAPABILITIES, type ThinkMembers } from "./capabilities.ts";
import { ThinkCore } from "./think-core.ts";

/**
 * A durable chat agent: one conversation with its history, its tools and its agentic loop, streamed to every client.
 *
 * @example
 * export class Assistant extends Think<Env> {
 *   getModel() {
 *     return openai("gpt-5");
 *   }
 *   getSystemPrompt() {
 *     return "You help with cooking.";
 *   }
 * }
 */
export abstract class Think<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends ThinkCore<Env, State, Props> {
  /** For the compiler only: the names that are not of a user's class. */
  declare readonly [BASE]?: Think;

  static {
    install(this, [...AGENT_CAPABILITIES, ...THINK_CAPABILITIES]);
  }
}

export interface Think<Env = unknown, State = unknown, Props extends Record<string, unknown> = Record<string, unknown>>
  extends AgentMembers, ThinkMembers {}
