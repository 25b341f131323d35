// The conversation that is shown is the one in the URL, `/c/<id>`; there is no second place for that fact, so the back
// button works by itself.
import { useSyncExternalStore } from "react";

const PATH = /^\/c\/([^/]+)\/?$/;
const CHANGED = "route-changed";

export function conversationPath(id: string): string {
  return `/c/${encodeURIComponent(id)}`;
}

/** Replacing leaves no step to go back to: for the page's own decisions, not for a person's. */
export function openConversation(id: string | undefined, how: "push" | "replace" = "push"): void {
  const path = id === undefined ? "/" : conversationPath(id);
  if (location.pathname === path) return;
  if (how === "push") history.pushState(null, "", path);
  else history.replaceState(null, "", path);
  dispatchEvent(new Event(CHANGED));
}

export function useConversationId(): string | undefined {
  return useSyncExternalStore(subscribe, shownConversation);
}

function shownConversation(): string | undefined {
  const [, id] = PATH.exec(location.pathname) ?? [];
  return id === undefined ? undefined : decoded(id);
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not something this page wrote: as good as no conversation.
    return undefined;
  }
}

function subscribe(listener: () => void): () => void {
  addEventListener("popstate", listener);
  addEventListener(CHANGED, listener);
  return () => {
    removeEventListener("popstate", listener);
    removeEventListener(CHANGED, listener);
  };
}
