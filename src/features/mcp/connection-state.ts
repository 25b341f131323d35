// What is said of a connection, without the code that makes one: declarations of every class stand on it.

export type McpConnectionState =
  "authenticating" | "connecting" | "connected" | "discovering" | "ready" | "failed" | "not-connected";

/** What becomes of an attempt to connect. `connected`: the line is up, but the server's lists could not be read. */
export type McpConnectOutcome =
  | { readonly state: "ready" }
  | { readonly state: "authenticating"; readonly authUrl: string }
  | { readonly state: "connected" | "failed"; readonly error: string; readonly cause: unknown };
