export const questions = ["Remember that I take my tea black.", "Write my briefing."];
export const answered = "I will remember that.";
