// Everything one conversation knows and can do, from its one client: the chat, its versions, the plug's story, and what
// happens underneath.
import { useCallback, useMemo } from "react";
import type { Status } from "everthink/client";
import { useThink } from "everthink/react";
import type { Assistant } from "../../agents/assistant/agent.ts";
import { browserTools } from "../browser-info.ts";
import { useFileChanges } from "../files/use-files.ts";
import { usePlug } from "../header/use-plug.ts";
import { useConnectionNotes, usePanelNotes } from "../panel/panel-notes.ts";
import { useBackground } from "../panel/use-background.ts";
import { useJournal } from "../panel/use-journal.ts";
import type { Decisions } from "../parts/decisions.ts";
import { useShownServers } from "../servers/shown-servers.ts";
import { answerLength } from "./message-text.ts";
import { useActions } from "./use-actions.ts";
import { type Interruption, useInterruption } from "./use-interruption.ts";
import { isBusy } from "./use-live-answer.ts";
import { useVersions } from "./use-versions.ts";

export type ConversationView = ReturnType<typeof useConversation>;

export function useConversation(id: string, isPanelOpen: boolean) {
  const notes = usePanelNotes();
  const files = useFileChanges();
  const { servers, receive: receiveServers } = useShownServers();
  const { receive: receiveNote } = notes;
  const { receive: receiveFile } = files;
  const onMessage = useCallback(
    (text: string) => {
      receiveNote(text);
      receiveServers(text);
      receiveFile(text);
    },
    [receiveNote, receiveServers, receiveFile]
  );
  const think = useThink<Assistant>({ agent: "assistant", name: id, tools: browserTools, onMessage });
  const { messages, status, connection, isRecovering, pendingApprovals, approve, reject, call, client } = think;
  useConnectionNotes(connection, notes.add);
  const busy = isBusy(status);
  const { versions, select } = useVersions(think);
  const acting = useActions(think, select);
  const length = answerLength(messages.findLast(({ role }) => role === "assistant"));
  const sight = { connection, isBusy: busy, answerLength: length };
  const plug = usePlug(sight, client.retryNow);
  const seen = useInterruption({ ...sight, hasProcessDied: isRecovering || plug.story !== undefined });
  const interruption = seen ?? (busy && isRecovering ? toldInterruption(status) : undefined);
  const read = useCallback((after: number, limit: number) => call("readJournal", [{ after, limit }]), [call]);
  const journal = useJournal({ isWatched: isPanelOpen && connection === "open", isWriting: busy, read });
  const calledFromCode = useCallback((executionId: string) => call("calledFromCode", [executionId]), [call]);
  const decisions = useMemo(
    (): Decisions => ({ pending: pendingApprovals, approve, reject, calledFromCode }),
    [pendingApprovals, approve, reject, calledFromCode]
  );
  const background = useBackground(think, isPanelOpen);
  return {
    ...think,
    background,
    ...acting,
    isBusy: busy,
    interruption,
    versions,
    plug,
    journal,
    notes: notes.list,
    fileChanges: files.count,
    decisions,
    servers
  };
}

/** The agent says so: this page came when the answer was already interrupted. */
function toldInterruption(status: Status): Interruption {
  return { phase: status === "running" ? "goes-on" : "cut", cause: "process" };
}
