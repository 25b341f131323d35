export const title = "Telegram bot";
export const greeting = "Your bot, without Telegram.";
export const suggestions = ["Hello", "What can you do?"];
