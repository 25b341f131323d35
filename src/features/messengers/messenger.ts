// How the class gets a messenger. It carries the feature that serves it, so only a class with messengers loads that code.
import { FEATURE } from "../../feature/feature.ts";
import type { Messenger, MessengerDefinition, Messengers, ProviderOptions } from "./definition.ts";
import { messengerErrors } from "./errors.ts";
import { openMessengers } from "./feature.ts";

/** Returns the messengers as they are given, for type inference. */
export function defineMessengers<Defined extends Messengers>(messengers: Defined): Defined {
  return messengers;
}

/**
 * Makes a messenger over any adapter of the Chat SDK.
 *
 * @example
 * chatSdkMessenger({
 *   provider: "github",
 *   userName: "review-bot",
 *   adapter: async () => (await import("@chat-adapter/github")).createGitHubAdapter(),
 *   verifyWebhook: false
 * });
 */
export function chatSdkMessenger(definition: MessengerDefinition): Messenger {
  if (definition.verifyWebhook === undefined) {
    throw messengerErrors.MessengerDefinitionError(definition.provider, "it requires verifyWebhook");
  }
  return { ...definition, [FEATURE]: openMessengers };
}

/** Makes a messenger of what a provider of this package sets, as far as its options do not say otherwise. */
export function providerMessenger(
  options: ProviderOptions,
  own: Omit<MessengerDefinition, keyof ProviderOptions> &
    Pick<MessengerDefinition, "verifyWebhook" | "capabilities" | "delivery" | "shardKey" | "keyShard">
): Messenger {
  return chatSdkMessenger({
    ...own,
    ...options,
    provider: own.provider,
    adapter: own.adapter,
    verifyWebhook: options.verifyWebhook ?? own.verifyWebhook,
    capabilities: {
      canEditMessages: true,
      canStream: true,
      supportsActions: true,
      supportsAttachments: true,
      ...own.capabilities,
      ...options.capabilities
    },
    delivery: { ...own.delivery, ...options.delivery }
  });
}
