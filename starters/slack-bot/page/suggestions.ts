export const title = "Slack bot";
export const greeting = "Your bot, without Slack.";
export const suggestions = ["Hello", "Deploy shop"];
