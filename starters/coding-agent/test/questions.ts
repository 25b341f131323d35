export const questions = ["Write a function that adds.", "How do you review code?"];
export const answered = "It is in /add.ts.";
