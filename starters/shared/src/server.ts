// What the Worker does besides its agents. A Response ends the request; null passes it on to them.
import { login } from "./login.ts";

// Counts wrong passwords, over all processes of the app: LOGIN_ATTEMPTS of wrangler.jsonc.
export { LoginAttempts } from "everthink/login";

export default { fetch: login.fetch };
