// `everthink/channels`: the surfaces a turn can belong to. What `everthink` exports of them, for code that only declares.
export { defineChannels, messengerChannel, resolveChannels } from "./channels.ts";
export type {
  ChannelCapabilities,
  ChannelContext,
  ChannelDefinition,
  ChannelDeliveryPolicy,
  ChannelDeliverySurface,
  ChannelIngress,
  ChannelKind,
  ChannelMessenger,
  DeliveryKind,
  DeliveryTag,
  MessengerOrigin,
  MessengerSet,
  NormalizedChannelDefinition,
  ThinkChannels
} from "./channels.ts";
export type { DeliverNoticeOptions } from "./capability.ts";
export type { ChannelCard, ChannelText } from "../../feature/channel-text.ts";
