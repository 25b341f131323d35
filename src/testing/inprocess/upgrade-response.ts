// A response with status 101 and the client's socket. Node's Response refuses that status, so it is reported, not passed.
import { standIn } from "./stand-in.ts";
import { ClientSocket } from "./client-socket.ts";
import { SocketConnection } from "./connection.ts";
import { ServerSocket } from "./server-socket.ts";

const upgrades = new WeakMap<Response, { client: ClientSocket; server: ServerSocket }>();

/** Both ends of a new WebSocket, and the response that hands the client its end. */
export function createSocketPair(): { server: WebSocket; response: Response } {
  const connection = new SocketConnection();
  const server = new ServerSocket(connection);
  const client = new ClientSocket(connection);
  const response = new Response(null);
  Object.defineProperties(response, {
    status: { value: 101 },
    statusText: { value: "Switching Protocols" },
    ok: { value: false },
    webSocket: { value: client }
  });
  upgrades.set(response, { client, server });
  return { server: standIn<WebSocket>(server), response };
}

export function upgradeOf(response: Response): { client: ClientSocket; server: ServerSocket } | undefined {
  return upgrades.get(response);
}
