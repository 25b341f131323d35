export const questions = ["Pay 40 to Ada", "Write the digest."];
export const answered = "The payment to Ada is settled.";
