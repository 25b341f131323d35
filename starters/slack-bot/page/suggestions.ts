export const greeting = "Your bot, without Slack.";
export const suggestions = ["Hello", "Deploy shop"];
