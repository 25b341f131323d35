export const questions = ["Hello", "What can you do?"];
export const answered = "a crash does not make me answer twice";
