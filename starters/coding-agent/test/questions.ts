export const questions = ["Write a function that adds.", "Review add.ts."];
export const answered = "A test is missing.";
