export const questions = ["Hello", "What can you do?"];
export const answered = "I keep our conversation through crashes";
