// The channels of an agent as a feature: those that the class declares, and the policy that each gives its turns.
import type { ChannelPolicy, Feature, Roles, TurnPart } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { TurnView } from "../../turn/turn.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";
import type { ChannelMembers } from "./capability.ts";
import { messengerOriginOf } from "./channel-origin.ts";
import { ChannelRuntime } from "./channel-runtime.ts";
import {
  messengersOf,
  resolveChannels,
  WEB,
  type ChannelContext,
  type MessengerSet,
  type NormalizedChannelDefinition
} from "./channels.ts";

export interface ChannelsFeature extends Feature {
  readonly declared: Channels;
  readonly runtime: ChannelRuntime;
}

export function openChannels(services: ChatServices): ChannelsFeature {
  const declared = new Channels(services);
  const runtime = new ChannelRuntime(services, declared);
  const roles: Partial<Roles> = { escalated: (question) => runtime.escalated(question) };
  const feature = { name: "channels", declared, runtime, roles };
  // In a class without channels the channel of a turn is only a name.
  if (!services.isOverridden("getMessengers") && !services.isOverridden("configureChannels")) return feature;
  return {
    ...feature,
    start: () => declared.start(),
    inTurn: (turn) => declared.inTurn(turn),
    roles: { ...roles, channelPolicy: (channel) => declared.policyOf(channel) }
  };
}

/** The channels of one agent. */
export class Channels {
  readonly #services: ChatServices;
  readonly #agent: ChannelMembers;
  #resolved: ReadonlyMap<string, NormalizedChannelDefinition> = new Map([["web", WEB]]);

  constructor(services: ChatServices) {
    this.#services = services;
    // Only agents with these members open it.
    this.#agent = services.agent as ChannelMembers;
  }

  async start(): Promise<void> {
    this.#resolved = resolveChannels(await this.#agent.configureChannels(), this.#agent.getMessengers());
  }

  get(id: string): NormalizedChannelDefinition | undefined {
    return this.#resolved.get(id);
  }

  get messengers(): MessengerSet {
    return messengersOf(this.#resolved);
  }

  /** Reports every turn of a channel that the class declares. */
  inTurn({ channel: id, requestId }: TurnView): TurnPart | undefined {
    const channel = id === undefined ? undefined : this.#resolved.get(id);
    if (!channel || channel === WEB) return undefined;
    const payload = { channel: channel.id, kind: channel.kind, requestId };
    return { begin: () => this.#services.emit("channel:resolved", payload) };
  }

  policyOf(id: string): ChannelPolicy | undefined {
    const channel = this.#resolved.get(id);
    if (!channel) return undefined;
    const { instructions, tools, maxTurns } = channel;
    return {
      instructions: typeof instructions === "function" ? () => this.#instruct(id, instructions) : instructions,
      tools,
      maxTurns
    };
  }

  async #instruct(id: string, instructions: (context: ChannelContext) => MaybePromise<string>): Promise<string> {
    return instructions(this.contextOf(id));
  }

  contextOf(id: string): ChannelContext {
    const { kind, capabilities } = this.#resolved.get(id) ?? {};
    const origin = messengerOriginOf(this.#services);
    const messenger = origin?.messengerId === id ? origin : undefined;
    return {
      channelId: id,
      // A class that only answers for its root need not declare the root's messenger.
      kind: kind ?? (messenger ? "messenger" : "custom"),
      capabilities,
      messenger,
      thread: messenger?.thread.id
    };
  }
}
