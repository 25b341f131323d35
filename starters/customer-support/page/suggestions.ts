export const title = "Customer support";
export const greeting = "How can we help?";
export const suggestions = ["Where is order 1002?", "I want to talk to a person."];
