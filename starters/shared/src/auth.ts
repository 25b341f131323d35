// Asked before any agent is reached, over HTTP and WebSocket.
import { login } from "./login.ts";

export default login.authorize;
