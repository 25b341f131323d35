// E-mail as a capability of every agent. What it does is in `email.ts`.
import { capability } from "../../feature/capability.ts";
import { EmailMembers } from "./members.ts";

export const email = capability({ name: "email", members: EmailMembers });
