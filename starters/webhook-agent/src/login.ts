// Who may see the events. LOGIN_USERS and SESSION_SECRET are secrets of the Worker: `npx everthink user <e-mail>` makes them.
// All of them see the same agent, to which the webhook reports. In development every name may enter.
import { createLogin } from "everthink/login";
import { modelStatus } from "../models/model.ts";

/** The agent that keeps the events. */
export const EVENTS = "events";

export const login = createLogin<Cloudflare.Env>({
  nameOf: () => EVENTS,
  about: (env) => ({ model: modelStatus(env) })
});
