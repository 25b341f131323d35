import { login } from "./tenant-login.ts";

export default { fetch: login.fetch };
