export const title = "Assistant";
export const greeting = "Your agent is ready.";
export const suggestions = ["Hello", "What can you do?"];
