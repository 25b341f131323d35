// Going on with a session that the server opened before the agent restarted. The handshake of the MCP client is answered
// from what the server said when it opened the session, so the server keeps what belongs to it and is asked nothing
// twice. A server that has forgotten the session says so (404) at the first real request.
import { isObject, parseJson } from "../../util/json.ts";
import type { Fetch } from "./guarded-fetch.ts";
import type { StoredSession } from "./server-record.ts";

export function resumingFetch(session: StoredSession, fetch: Fetch): Fetch {
  let isOpen = false;
  return async (url, init) => {
    const message = isOpen ? undefined : postedMessage(init);
    switch (message?.["method"]) {
      case "initialize":
        return Response.json(
          { jsonrpc: "2.0", id: message["id"], result: session.initialize },
          { headers: { "mcp-session-id": session.id } }
        );
      case "notifications/initialized":
        // The client now asks for the stream of the server's notifications, as after a new handshake.
        isOpen = true;
        return new Response(null, { status: 202 });
      default:
        return fetch(url, init);
    }
  };
}

function postedMessage(init: RequestInit | undefined): Record<string, unknown> | undefined {
  if (init?.method !== "POST" || typeof init.body !== "string") return undefined;
  const parsed = parseJson(init.body);
  return parsed.ok && isObject(parsed.value) ? parsed.value : undefined;
}
