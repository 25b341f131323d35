export const questions = ["Hello", "Deploy shop"];
export const answered = "It waits for a decision.";
