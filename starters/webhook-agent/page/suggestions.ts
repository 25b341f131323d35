export const title = "Events";
export const greeting = "Events appear here.";
export const suggestions = ["Hello", "Event 1: the backup is done."];
