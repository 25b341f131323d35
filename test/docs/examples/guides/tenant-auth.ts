import { login } from "./tenant-login.ts";

export default login.authorize;
