// Who may come in. LOGIN_USERS and SESSION_SECRET are secrets of the Worker: `npx everthink user <e-mail>` makes them. Each
// person has an agent of their own, by their address. In development every name may enter.
import { createLogin } from "everthink/login";
import { modelStatus } from "../models/model.ts";

export const login = createLogin<Cloudflare.Env>({ about: (env) => ({ model: modelStatus(env) }) });
