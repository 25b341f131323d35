// The list of conversations, which one is shown, and what can be done with them. Opening the page without one opens the
// newest, or makes the first; a conversation that is deleted, here or elsewhere, makes place for the newest.
import { useCallback, useEffect, useRef, useState } from "react";
import { useThink } from "everthink/react";
import type { Directory } from "../../agents/directory.ts";
import type { DirectoryState } from "../../shared/demo.ts";
import { countQuestions } from "./waiting-questions.tsx";
import { openConversation, useConversationId } from "../route.ts";

export interface DirectoryView {
  readonly state: DirectoryState | undefined;
  readonly currentId: string | undefined;
  readonly title: string;
  readonly problem: string | undefined;
  create(): void;
  open(id: string): void;
  rename(id: string, title: string): void;
  remove(id: string): void;
  reconnect(): void;
}

const UNTITLED = "New conversation";

export function useDirectory(): DirectoryView {
  const { state, connectionError, call, client } = useThink<Directory>({ agent: "directory", name: "main" });
  const currentId = useConversationId();
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
    (how: "push" | "replace") =>
      guard(async () => {
        const { id } = await call("create", []);
        openConversation(id, how);
      }),
    [call, guard]
  );
  useChosenConversation(state, currentId, create);
  const entry = state?.conversations.find(({ id }) => id === currentId);
  const waiting = countQuestions(state?.conversations ?? []);
  useEffect(() => {
    const title = entry === undefined ? "everthink" : `${entry.title} · everthink`;
    document.title = waiting > 0 ? `(${waiting}) ${title}` : title;
  }, [entry, waiting]);
  return {
    state,
    currentId,
    title: entry?.title ?? UNTITLED,
    problem: problem ?? connectionError,
    create: () => void create("push"),
    open: (id) => openConversation(id),
    rename: (id, title) => void guard(() => call("rename", [id, title])),
    remove: (id) => void guard(() => call("remove", [id])),
    reconnect: client.connect
  };
}

/** Sees to it that there is a conversation to show. */
function useChosenConversation(
  state: DirectoryState | undefined,
  currentId: string | undefined,
  create: (how: "replace") => Promise<void>
): void {
  const lastListed = useRef<string>(undefined);
  const isCreating = useRef(false);
  useEffect(() => {
    if (state === undefined) return;
    const isListed = state.conversations.some(({ id }) => id === currentId);
    if (isListed) lastListed.current = currentId;
    const isDeleted = currentId !== undefined && !isListed && lastListed.current === currentId;
    if (currentId !== undefined && !isDeleted) return;
    const [newest] = state.conversations.toSorted((left, right) => right.updatedAt - left.updatedAt);
    if (newest !== undefined) return openConversation(newest.id, "replace");
    if (isCreating.current) return;
    isCreating.current = true;
    void create("replace").finally(() => {
      isCreating.current = false;
    });
  }, [state, currentId, create]);
}
