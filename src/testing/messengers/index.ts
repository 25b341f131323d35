// The fake providers. For tests, and for what shows a messenger without an account: they run in workerd, too.
export {
  FakeTelegram,
  type FakeTelegramOptions,
  type TelegramButton,
  type TelegramChats,
  type TelegramMessage,
  type TelegramSaid,
  type TelegramUserOptions
} from "./telegram.ts";
export { FakeDiscord, type DiscordUserOptions } from "./discord.ts";
export { FakeTeams, type TeamsUserOptions } from "./teams.ts";
export { FakeSlack, type SlackUserOptions } from "./slack.ts";
export {
  FakeProvider,
  type FakeFile,
  type FakeMessage,
  type FakePace,
  type FakeWrite,
  type ProviderFailure,
  type ProviderFault,
  type ProviderCall
} from "./provider.ts";
