// What can be wrong with the channels of a class, and with what is delivered to them.
import { errorTable, ThinkError } from "../../util/errors.ts";

export const channelErrors = errorTable(ThinkError, {
  /** `configureChannels()` or `getMessengers()` declares channels that cannot be used. */
  ChannelDefinitionError: (problem: string) => ({
    code: "channel-definition",
    message: `The channels of this agent cannot be used: ${problem}.`,
    hint: "Give each channel its own id, and keep the id web for the built-in chat."
  }),
  /** `getMessengers()` returned something else than messengers. */
  MessengerMapError: () => ({
    code: "messenger-map",
    message: "getMessengers() must return an object of messengers.",
    hint: "Make each with its provider's function, such as telegramMessenger(), or with chatSdkMessenger()."
  }),
  /** A notice has no way to its channel. */
  NoSurfaceError: (channel: string, why: string) => ({
    code: "channel-no-surface",
    message: `Nothing can be delivered to the channel "${channel}": ${why}.`,
    hint: "Register the channel, and name a thread for a notice outside its own turns."
  })
});
