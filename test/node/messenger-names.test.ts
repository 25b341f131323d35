// The names of messengers.md, compared with what the package exports.
import { expect, test } from "vitest";
import * as messengers from "../../src/features/messengers/index.ts";
import * as telegram from "../../src/features/messengers/telegram.ts";
import * as chatSdk from "../../src/features/chat-sdk/index.ts";
import { defineChannels, messengerChannel } from "../../src/features/channels/channels.ts";
import { Think } from "../../src/think/think.ts";

/**
 * Documented, and left out on purpose: the runtime of the original has no documented members. Here the feature that a
 * messenger carries does that work, and has no class of its own.
 */
const LEFT_OUT = ["ThinkMessengerRuntime"];

const DOCUMENTED = `defineMessengers chatSdkMessenger normalizeMessengers ThinkMessengerRuntime ThinkMessengerStateAgent
  defaultChatSdkEvent defaultConversationName idempotencyKeyForEvent toMessengerAttachment toMessengerAuthor
  toMessengerMessage toMessengerThread deliverMessengerReply TextStreamCallback textDeltaFromStreamChunk
  messengerReplySnapshot parseMessengerReplySnapshot messengerReplyRecoveryMode messengerReplyFailureMode
  defaultDeliveryTag messengerContextFromEvent serializableMessengerEvent toMessengerUserMessage
  EMPTY_MESSENGER_RESPONSE ERROR_MESSENGER_RESPONSE INTERRUPTED_MESSENGER_RESPONSE MESSENGER_REPLY_FIBER_NAME`;

const TELEGRAM = `telegramMessenger default telegramSecretTokenVerifier defaultTelegramThreadShard shardTelegramStateKey
  splitTelegramMessageText isTelegramIgnorableDeliveryError isExpectedTelegramFinalEditNoop TELEGRAM_STREAM_SOFT_LIMIT
  TELEGRAM_FOLLOWUP_CHUNK_LIMIT`;

const CHAT_SDK = "createChatSdkState ChatSdkStateAdapter ChatSdkStateAgent defaultThreadShard defaultKeyShard";

function missing(names: string, from: object): string[] {
  return names.split(/\s+/).filter((name) => !(name in from));
}

test("every documented name is exported, but for those that are left out on purpose", () => {
  expect(missing(DOCUMENTED, messengers)).toEqual(LEFT_OUT);
  expect(missing(TELEGRAM, telegram)).toEqual([]);
  expect(missing(CHAT_SDK, chatSdk)).toEqual([]);
  expect([defineChannels, messengerChannel].map((value) => typeof value)).toEqual(["function", "function"]);
});

test("every documented member of the class is there, but for the surface that is one field of the agent", () => {
  const members = `getMessengers configureChannels getMessengerContext chatWithMessengerContext bindActiveDeliverySurface
    activeChannel deliverNotice renderAttachment fetchMessengerAttachment`;
  expect(missing(members, Think.prototype)).toEqual(["bindActiveDeliverySurface"]);
});
