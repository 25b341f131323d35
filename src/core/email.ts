// `everthink/core/email`: sending and answering mail.
export { email, type EmailMembers } from "../features/email/capability.ts";
