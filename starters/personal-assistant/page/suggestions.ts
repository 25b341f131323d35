export const title = "Personal assistant";
export const greeting = "I remember what you tell me.";
export const suggestions = ["Remember that I take my tea black.", "Write my briefing."];
