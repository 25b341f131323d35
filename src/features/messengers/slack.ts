// Slack: webhooks verified by the signing secret, answers as Markdown blocks that are posted and edited, approvals as
// buttons. Over `fetch` alone: the provider needs no further package.
import type { Messenger, MessengerPace, ProviderOptions } from "./definition.ts";
import { messengerErrors } from "./errors.ts";
import { providerMessenger } from "./messenger.ts";
import { SlackAdapter, type SlackToken } from "./slack/adapter.ts";
import type { SlackWorkspace } from "./slack/webhook.ts";
import { slackSignatureVerifier } from "./slack/signature.ts";

/**
 * Checked with Slack's documentation in November 2026: 12,000 characters of Markdown in a message; about one post a second
 * in a channel. Shorter messages are easier to read.
 */
const MESSAGE_CHARS = 3_500;
const EDIT_MS = 1_200;
/** How fast Slack may be written to: short bursts of posts are allowed; updates are 50 a minute. */
const PACE: readonly MessengerPace[] = [
  { calls: 4, perMs: 4_400, of: "posts" },
  { calls: 48, perMs: 60_000, of: "edits" }
];

export interface SlackMessengerOptions extends ProviderOptions {
  /** The bot token (`xoxb-…`), or a function that gives it for a workspace: an app may be installed in several. */
  readonly token: SlackToken;
  /** The secret in the app's settings, with which webhooks are signed. */
  readonly signingSecret?: string;
  /** The bot's own user id. Default: as Slack names it in its events. */
  readonly botUserId?: string;
  /** The address of the API. Default: Slack's own. */
  readonly apiUrl?: string;
}

/**
 * Makes a messenger for Slack.
 *
 * @example
 * getMessengers() {
 *   return defineMessengers({
 *     slack: slackMessenger({
 *       token: this.env.SLACK_BOT_TOKEN,
 *       signingSecret: this.env.SLACK_SIGNING_SECRET,
 *       userName: "support"
 *     })
 *   });
 * }
 */
export function slackMessenger(options: SlackMessengerOptions): Messenger {
  const { token, signingSecret, botUserId, apiUrl, ...common } = options;
  if (!token) throw messengerErrors.MessengerDefinitionError("slack", "it requires token");
  if (!signingSecret && common.verifyWebhook === undefined) {
    throw messengerErrors.MessengerDefinitionError("slack", "it requires signingSecret, or an explicit verifyWebhook");
  }
  return providerMessenger(common, {
    provider: "slack",
    adapter: () => new SlackAdapter({ token, botUserId, apiUrl }),
    verifyWebhook: slackSignatureVerifier(signingSecret ?? ""),
    delivery: {
      visibleSoftLimit: MESSAGE_CHARS,
      followupLimit: MESSAGE_CHARS,
      editIntervalMs: () => EDIT_MS,
      pace: PACE
    }
  });
}

export type { SlackToken, SlackWorkspace };
export { slackSignatureVerifier } from "./slack/signature.ts";

// oxlint-disable-next-line import/no-default-export -- the documented import of a provider is its default
export default slackMessenger;
