export const questions = ["Write a function that adds."];
export const answered = "It is in /add.ts.";
