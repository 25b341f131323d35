// `everthink/core/email`: sending and answering mail.
export { email } from "../features/email/capability.ts";
export type { EmailMembers } from "../features/email/members.ts";
