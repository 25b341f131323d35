// Who may open the page. LOGIN_USERS and SESSION_SECRET are secrets of the Worker: `npx everthink user <e-mail>` makes them.
// Each person has an agent of their own there. In development every name may enter.
import { createLogin } from "everthink/login";
import { modelStatus } from "../models/model.ts";

export const login = createLogin<Cloudflare.Env>({
  // The messenger checks itself who sends to its webhook.
  needsNoLogin: ({ method, url }) => method === "POST" && /\/messengers\/[^/]+\/webhook$/.test(new URL(url).pathname),
  about: (env) => ({ model: modelStatus(env) })
});
