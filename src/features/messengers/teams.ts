// Microsoft Teams: webhooks verified by the Bot Framework's signature, answers posted complete, approvals as cards with
// buttons. Over `fetch` alone: the provider needs no further package.
import type { Messenger, MessengerPace, ProviderOptions } from "./definition.ts";
import { messengerErrors } from "./errors.ts";
import { providerMessenger } from "./messenger.ts";
import { TeamsAdapter, type TeamsToken } from "./teams/adapter.ts";
import { teamsTokenVerifier } from "./teams/token.ts";

/** Checked with Microsoft's documentation in November 2026: about 100 KB in a message, seven calls a second. */
const FIRST_CHARS = 20_000;
const FOLLOWUP_CHARS = 24_000;
/** Of plain text in a card: in lines of a few characters it is 80 KB. */
const CARD_CHARS = 8_000;
const EDIT_MS = 1_000;
const PACE: readonly MessengerPace[] = [
  { calls: 7, perMs: 1_100 },
  { calls: 8, perMs: 2_200 },
  { calls: 60, perMs: 33_000 }
];
/** How long Teams shows that the bot is typing: about three seconds. */
const TYPING_MS = 3_000;

export interface TeamsMessengerOptions extends ProviderOptions {
  /** The id of the bot's registration. Webhooks are signed for it. */
  readonly appId: string;
  /** The app's secret; or `token`, which is asked for an access token with every call. */
  readonly appPassword?: string;
  readonly token?: TeamsToken;
  /** The tenant of a single-tenant app. Users of other tenants are not answered. */
  readonly tenantId?: string;
  /** Tenants whose users are answered. Default: `tenantId`; without it every tenant that has installed the app. */
  readonly tenants?: readonly string[];
  /** Addresses that answers may be sent to beside Microsoft's own services: the app's token goes nowhere else. */
  readonly serviceUrls?: readonly string[];
  /** The address at which the Bot Framework's keys are found. Default: its own. */
  readonly openIdUrl?: string;
}

/**
 * Makes a messenger for Microsoft Teams.
 *
 * @example
 * getMessengers() {
 *   return defineMessengers({
 *     teams: teamsMessenger({
 *       appId: this.env.TEAMS_APP_ID,
 *       appPassword: this.env.TEAMS_APP_PASSWORD,
 *       userName: "support"
 *     })
 *   });
 * }
 */
export function teamsMessenger(options: TeamsMessengerOptions): Messenger {
  const { appId, appPassword, token, tenantId, serviceUrls, openIdUrl, ...common } = options;
  const { tenants = tenantId === undefined ? undefined : [tenantId], ...rest } = common;
  if (!appId) throw messengerErrors.MessengerDefinitionError("teams", "it requires appId");
  if (!appPassword && !token)
    throw messengerErrors.MessengerDefinitionError("teams", "it requires appPassword or token");
  const { userName } = rest;
  return providerMessenger(rest, {
    provider: "teams",
    adapter: () => new TeamsAdapter({ appId, userName, appPassword, token, tenantId, serviceUrls }),
    verifyWebhook: teamsTokenVerifier({ appId, tenants, openIdUrl }),
    // Every edit of a message in Teams marks it as edited: an answer is shown when it is complete.
    capabilities: { canStream: false },
    delivery: {
      visibleSoftLimit: FIRST_CHARS,
      followupLimit: FOLLOWUP_CHARS,
      cardLimit: CARD_CHARS,
      editIntervalMs: () => EDIT_MS,
      pace: PACE,
      typingIntervalMs: TYPING_MS
    }
  });
}

export type { TeamsToken };
export { teamsTokenVerifier } from "./teams/token.ts";

// oxlint-disable-next-line import/no-default-export -- the documented import of a provider is its default
export default teamsMessenger;
