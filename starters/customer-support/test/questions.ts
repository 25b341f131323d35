export const questions = ["Where is order 1002?", "I want to talk to a person."];
export const answered = "Order 1002: on its way.";
