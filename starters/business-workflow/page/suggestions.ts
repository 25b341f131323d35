export const title = "Payments";
export const greeting = "What shall be paid?";
export const suggestions = ["Pay 40 to Ada", "Pay 400 to Grace", "Write the digest."];
