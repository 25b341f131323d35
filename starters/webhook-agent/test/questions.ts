export const questions = ["Hello", "Event 1: the backup is done."];
export const answered = "I have noted event 1: the backup is done.";
