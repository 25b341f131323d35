export const questions = ["Write a function that adds.", "Review it."];
export const answered = "It is in /add.ts.";
