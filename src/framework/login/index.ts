export { TooManyAttemptsError } from "./attempts.ts";
export { LoginAttempts } from "./attempts-object.ts";
export { createLogin, userOf, type Login, type LoginOptions, type LoginVisit } from "./login.ts";
