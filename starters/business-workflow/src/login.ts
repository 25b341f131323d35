// Who may come in. LOGIN_USERS and SESSION_SECRET are secrets of the Worker: `npx everthink user <e-mail>` makes them. Each
// person has an agent of their own; people in APPROVERS also open those of others, at /?name=<address>.
import { createLogin } from "everthink/login";
import { modelStatus } from "../models/model.ts";

export function isApprover(user: string, { APPROVERS = "" }: Pick<Cloudflare.Env, "APPROVERS">): boolean {
  return APPROVERS.split(/[\s,]+/).includes(user);
}

export const login = createLogin<Cloudflare.Env>({
  mayEnter: ({ user, route, env }) => route.name === user || isApprover(user, env),
  about: (env) => ({ model: modelStatus(env) })
});
