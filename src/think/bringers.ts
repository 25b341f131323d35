// Which methods of the class bring a feature with what they return.
import { messengerOriginOf, type OriginSources } from "../features/channels/channel-origin.ts";
import { Channels, type ChannelsInit } from "../features/channels/channels.ts";
import type { BroughtFeatures } from "../feature/features.ts";
import type { OptionalHook, ThinkOverrides } from "./overrides.ts";

type IsOverridden = (hook: OptionalHook) => boolean;

export function bringersOf(
  overrides: ThinkOverrides,
  isOverridden: IsOverridden,
  channels: Channels
): Map<keyof BroughtFeatures, () => unknown> {
  const bringers = new Map<keyof BroughtFeatures, () => unknown>();
  if (isOverridden("getActions")) bringers.set("getActions", () => overrides.getActions());
  // Messengers may also be declared as channels.
  if (hasChannels(isOverridden)) bringers.set("getMessengers", () => channels.messengers);
  return bringers;
}

export function hasChannels(isOverridden: IsOverridden): boolean {
  return isOverridden("getMessengers") || isOverridden("configureChannels");
}

export function openChannels(
  overrides: ThinkOverrides,
  sources: () => OriginSources,
  emit: ChannelsInit["emit"]
): Channels {
  return new Channels({
    emit,
    configured: () => overrides.configureChannels(),
    messengers: () => overrides.getMessengers(),
    context: () => messengerOriginOf(sources())
  });
}
