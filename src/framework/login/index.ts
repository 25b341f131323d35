export { createLogin, userOf, type Login, type LoginOptions, type LoginVisit } from "./login.ts";
