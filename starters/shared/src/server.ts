// What the Worker does besides its agents. A Response ends the request; null passes it on to them.
import { login } from "./login.ts";

export default { fetch: login.fetch };
