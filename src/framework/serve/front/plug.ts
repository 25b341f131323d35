// Who may pull the plug (`everthink serve --plug`): a page that was loaded from this very address, on this very machine.
// Pure. A page of another site says so in `Origin`, and one whose name was pointed at this machine says so in `Host`; a
// proxy that brings strangers here has a name of its own, too.

/** Belongs to the user's Worker when there is no plug. */
export const PLUG_PATH = "/__think/plug";

export type PlugAnswer = "tell" | "pull" | "refuse" | "wrong-method";

/** `hosts`: the names of this machine for itself, as they stand in an address. */
export function plugAnswer(request: Pick<Request, "method" | "url" | "headers">, hosts: readonly string[]): PlugAnswer {
  const { hostname, origin } = new URL(request.url);
  if (!hosts.includes(hostname)) return "refuse";
  if (request.method === "GET" || request.method === "HEAD") return "tell";
  if (request.method !== "POST") return "wrong-method";
  const site = request.headers.get("sec-fetch-site") ?? "same-origin";
  return site === "same-origin" && request.headers.get("origin") === origin ? "pull" : "refuse";
}
