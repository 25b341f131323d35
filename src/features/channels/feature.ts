// The channels of an agent as features: those that the class declares, what their members do, and the door before
// conversations of messengers.
import type { Feature } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { ChannelMembers } from "./capability.ts";
import { ChannelRuntime } from "./channel-runtime.ts";
import { messengerOriginOf } from "./channel-origin.ts";
import { Channels } from "./channels.ts";

export interface ChannelsFeature extends Feature {
  readonly declared: Channels;
  readonly runtime: ChannelRuntime;
}

export function openChannels(services: ChatServices): ChannelsFeature {
  // Only agents with these members open it.
  const agent = services.agent as ChannelMembers;
  const declared = new Channels({
    emit: (type, payload) => services.emit(type, payload),
    configured: () => agent.configureChannels(),
    messengers: () => agent.getMessengers(),
    context: () => messengerOriginOf(services)
  });
  const runtime = new ChannelRuntime(services, declared);
  const feature: ChannelsFeature = {
    name: "channels",
    declared,
    runtime
  };
  // In a class without channels the channel of a turn is only a name.
  if (!services.isOverridden("getMessengers") && !services.isOverridden("configureChannels")) return feature;
  return {
    ...feature,
    start: () => declared.start(),
    inTurn: (turn) => declared.inTurn(turn),
    roles: { channelPolicy: (channel) => declared.channelPolicy(channel) }
  };
}
