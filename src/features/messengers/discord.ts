// Discord: webhooks verified by the application's key, slash commands as questions, answers posted and edited, approvals as
// buttons. Over `fetch` alone: the provider needs no further package.
import type { Messenger, MessengerPace, ProviderOptions } from "./definition.ts";
import { DiscordAdapter, type DiscordToken } from "./discord/adapter.ts";
import { DiscordGateway } from "./discord/gateway.ts";
import { discordSignatureVerifier, isDiscordPublicKey } from "./discord/signature.ts";
import { messengerErrors } from "./errors.ts";
import { providerMessenger } from "./messenger.ts";

/** Checked with Discord's documentation in November 2026: 2,000 characters, five writes in five seconds in a channel. */
const FIRST_CHARS = 1_800;
const FOLLOWUP_CHARS = 1_900;
const EDIT_MS = 1_250;
const PACE: readonly MessengerPace[] = [{ calls: 5, perMs: 5_500 }];

export interface DiscordMessengerOptions extends ProviderOptions {
  /** The bot's token, or a function that is asked for it with every call. */
  readonly token: DiscordToken;
  /** The id on the application's general page. */
  readonly applicationId: string;
  /** The key on the same page, with which webhooks are signed. */
  readonly publicKey?: string;
  /**
   * Opens the Gateway, by which ordinary messages come, from the agent of this name and no other: Discord sends every message
   * to each connection, and several agents would answer it. That agent never sleeps. Default: commands and buttons only.
   */
  readonly gateway?: false | { readonly agent: string; readonly url?: string };
  /** The address of the API. Default: Discord's own. */
  readonly apiUrl?: string;
}

/**
 * Makes a messenger for Discord.
 *
 * @example
 * getMessengers() {
 *   return defineMessengers({
 *     discord: discordMessenger({
 *       token: this.env.DISCORD_BOT_TOKEN,
 *       applicationId: this.env.DISCORD_APPLICATION_ID,
 *       publicKey: this.env.DISCORD_PUBLIC_KEY,
 *       userName: "support"
 *     })
 *   });
 * }
 */
export function discordMessenger(options: DiscordMessengerOptions): Messenger {
  const { token, applicationId, publicKey, apiUrl, gateway = false, ...common } = options;
  if (!token) throw messengerErrors.MessengerDefinitionError("discord", "it requires token");
  if (!applicationId) throw messengerErrors.MessengerDefinitionError("discord", "it requires applicationId");
  if (!publicKey && common.verifyWebhook === undefined) {
    throw messengerErrors.MessengerDefinitionError("discord", "it requires publicKey, or an explicit verifyWebhook");
  }
  if (publicKey !== undefined && !isDiscordPublicKey(publicKey)) {
    throw messengerErrors.MessengerDefinitionError("discord", "its publicKey must be 64 hexadecimal digits");
  }
  return providerMessenger(common, {
    provider: "discord",
    adapter: () => new DiscordAdapter({ token, applicationId, apiUrl }),
    verifyWebhook: discordSignatureVerifier(publicKey ?? ""),
    // All direct messages are in "@me": each has a shard of its own.
    shardKey: (threadId) =>
      threadId
        .split(":")
        .slice(0, threadId.startsWith("discord:@me:") ? 3 : 2)
        .join(":"),
    connect: gateway
      ? (intake) => {
          if (intake.agentName !== gateway.agent) return warnOnce(intake.agentName, gateway.agent);
          return new DiscordGateway(intake, { token, url: gateway.url });
        }
      : undefined,
    delivery: {
      visibleSoftLimit: FIRST_CHARS,
      followupLimit: FOLLOWUP_CHARS,
      editIntervalMs: () => EDIT_MS,
      pace: PACE
    }
  });
}

const warnedOf = new Set<string>();

/** Warns once in a process: an app may have thousands of agents, and ordinary messages reach one of them. */
function warnOnce(agent: string, connected: string): undefined {
  if (warnedOf.has(connected)) return;
  warnedOf.add(connected);
  console.warn(
    `The agent "${agent}" opens no connection to Discord's Gateway: ordinary messages come to "${connected}" only.`
  );
}

export { discordSignatureVerifier } from "./discord/signature.ts";

// oxlint-disable-next-line import/no-default-export -- the documented import of a provider is its default
export default discordMessenger;
