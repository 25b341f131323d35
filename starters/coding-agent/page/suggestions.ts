export const title = "Coding agent";
export const greeting = "What shall I write?";
export const suggestions = ["Write a function that adds.", "Review add.ts."];
