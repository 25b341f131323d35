// What this page knows of a conversation beside the chat: the plug's story, and what happens underneath.
import { useCallback } from "react";
import { useConversation, useSetting } from "everthink/react";
import type { Assistant } from "../../agents/assistant/agent.ts";
import { browserTools } from "../browser-info.ts";
import { useFileChanges } from "../files/use-files.ts";
import { usePlug } from "../header/use-plug.ts";
import { useConnectionNotes, usePanelNotes } from "../panel/panel-notes.ts";
import { useBackground } from "../panel/use-background.ts";
import { useJournal } from "../panel/use-journal.ts";
import { useShownServers } from "../servers/shown-servers.ts";

export type DemoView = ReturnType<typeof useDemo>;

export function useDemo(id: string, isPanelOpen: boolean) {
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
  const chat = useConversation<typeof Assistant>({ agent: "assistant", name: id, tools: browserTools, onMessage });
  const { connection, isBusy, answerLength, call, client } = chat;
  useConnectionNotes(connection, notes.add);
  const plug = usePlug({ connection, isBusy, answerLength }, client.retryNow);
  // This page knows why the connection broke.
  const isPulled = chat.interruption !== undefined && plug.story !== undefined;
  const interruption = isPulled ? { ...chat.interruption, cause: "process" as const } : chat.interruption;
  const read = useCallback((after: number, limit: number) => call("readJournal", [{ after, limit }]), [call]);
  const journal = useJournal({ isWatched: isPanelOpen && connection === "open", isWriting: isBusy, read });
  const background = useBackground(chat, isPanelOpen);
  const [shown, setShown] = useSetting("usage");
  const usage = { showsUsage: shown === "on", chooseUsage: (isOn: boolean) => setShown(isOn ? "on" : "off") };
  return {
    ...chat,
    ...usage,
    background,
    interruption,
    plug,
    journal,
    notes: notes.list,
    fileChanges: files.count,
    servers
  };
}
