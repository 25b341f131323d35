// The conversations of the person at the page, and which one is shown: the one in the address, /c/<id>, so that the back button
// and links work by themselves. The page without an address opens the newest, or makes the first one.
import { useThink } from "everthink/react";
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import type Conversations from "../agents/conversations.ts";
import type { ConversationEntry } from "../src/conversations.ts";

const CHANGED = "route-changed";

export function conversationPath(id: string): string {
  return `/c/${encodeURIComponent(id)}${location.search}`;
}

/** Replacing leaves no step to go back to: for the page's own decisions, not for a person's. */
function openConversation(id: string, how: "push" | "replace"): void {
  const path = conversationPath(id);
  if (how === "push") history.pushState(null, "", path);
  else history.replaceState(null, "", path);
  dispatchEvent(new Event(CHANGED));
}

function shownConversation(): string | undefined {
  const [, id] = /^\/c\/([\w-]+)$/.exec(location.pathname) ?? [];
  return id;
}

function subscribe(listener: () => void): () => void {
  addEventListener("popstate", listener);
  addEventListener(CHANGED, listener);
  return () => {
    removeEventListener("popstate", listener);
    removeEventListener(CHANGED, listener);
  };
}

export interface ConversationsView {
  readonly list: readonly ConversationEntry[];
  readonly currentId: string | undefined;
  /** Why the last change was not made, or why there is no list. */
  readonly problem: string | undefined;
  create(): void;
  open(id: string): void;
  rename(id: string, title: string): void;
  remove(id: string): void;
}

export function useConversations(person: string): ConversationsView {
  const { state, connectionError, call } = useThink<Conversations>({ agent: "conversations", name: person });
  const currentId = useSyncExternalStore(subscribe, shownConversation);
  const [problem, setProblem] = useState<string>();
  const guard = useCallback(async (act: () => Promise<unknown>) => {
    setProblem(undefined);
    try {
      await act();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  }, []);
  const create = useCallback(
    (how: "push" | "replace") => guard(async () => openConversation((await call("create", [])).id, how)),
    [call, guard]
  );
  const isCreating = useRef(false);
  const wasListed = useRef<string>(undefined);
  useEffect(() => {
    if (state === undefined) return;
    const isListed = state.conversations.some(({ id }) => id === currentId);
    if (isListed) wasListed.current = currentId;
    // One that was deleted, here or in another tab, makes place for the newest.
    if (currentId !== undefined && (isListed || wasListed.current !== currentId)) return;
    const [newest] = state.conversations.toSorted((left, right) => right.updatedAt - left.updatedAt);
    if (newest !== undefined) return openConversation(newest.id, "replace");
    if (isCreating.current) return;
    isCreating.current = true;
    void create("replace").finally(() => {
      isCreating.current = false;
    });
  }, [state, currentId, create]);
  return {
    list: state?.conversations ?? [],
    currentId,
    problem: problem ?? connectionError,
    create: () => void create("push"),
    open: (id) => openConversation(id, "push"),
    rename: (id, title) => void guard(() => call("rename", [id, title])),
    remove: (id) => void guard(() => call("remove", [id]))
  };
}
