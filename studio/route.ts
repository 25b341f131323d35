// Where the page is, in its address: every turn and view has a link.
export const VIEWS = ["timeline", "why", "inbox", "state", "agents", "costs", "chat", "tools"] as const;
export type ViewName = (typeof VIEWS)[number];

export interface Route {
  /** `<agent>/<instance>`, and for a sub-agent what follows it; empty: there is none yet. */
  readonly at: string;
  readonly view: ViewName;
  readonly turn: string | undefined;
}

export function readRoute(hash: string, otherwise: string): Route {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const at = query.get("at") ?? otherwise;
  const view = VIEWS.find((name) => name === query.get("view")) ?? (at === "" ? "agents" : "timeline");
  return { at, view, turn: query.get("turn") ?? undefined };
}

export function routeHash({ at, view, turn }: Route): string {
  return `#${new URLSearchParams({ at, view, ...(turn !== undefined && { turn }) })}`;
}
